/**
 * Sessions of the console: one row for each signed-in browser, with an end by the store's clock (`session.ends`, `operator.change`). Contains only a digest of
 * the cookie.
 */
import type { Row, Sql } from '../sql.ts'
import { byDigest, integer, listOf, text, textOrNull } from './columns.ts'
import { readAccess } from './operators.ts'
import type { Operator } from './operators.ts'
import { read, write } from './operation.ts'
import { installation } from './scope.ts'
import { when } from './audited-fields.ts'

/** How the session began. `link`: an invitation or a recovery link. */
export type SignInMethod = 'admin_token' | 'password' | 'passkey' | 'oidc' | 'link'

export type Session = {
  id: string
  method: SignInMethod
  /** The network address and the User-Agent header of the sign-in. */
  address: string | null
  userAgent: string | null
  createdAt: number
  expiresAt: number
}

/** The operator with what it may do now. Null: signed in with the admin token. */
export type SessionOfOperator = Session & { operator: Pick<Operator, 'id' | 'name' | 'role' | 'permissions' | 'ownerId'> | null }

/** A session of an operator. */
export type OwnSession = Session & { method: Exclude<SignInMethod, 'admin_token'> }

export type NewSession = Pick<Session, 'id' | 'method' | 'address' | 'userAgent'> & {
  digest: Uint8Array
  /** Null: signed in with the admin token. */
  operatorId: string | null
  /** `updatedAt` of the operator when its password or passkey was checked. Null: signed in with the admin token. */
  checkedAt: number | null
  lifetimeMs: number
  /** The session of the same browser, which this one replaces. */
  replaces: string | null
}

/**
 * Also deletes ended sessions: sign-ins are rare, and nothing else needs them deleted. Undefined if the operator is not active, or if it has
 * been changed since its sign-in was checked: its password may be another one.
 */
async function openSession(sql: Sql, given: NewSession): Promise<Session | undefined> {
  const { id, digest, operatorId, checkedAt, method, address, userAgent, lifetimeMs, replaces } = given
  const now = await sql.now()
  if (operatorId !== null) {
    // The update also waits for a change of the operator that is being committed.
    const active = await sql.run(
      `update operators set last_sign_in_at = $1 where id = $2 and state = 'active' and updated_at = $3`,
      now,
      operatorId,
      checkedAt,
    )
    // mutant: operator.change
    if (active === 0) return undefined
  }
  const expiresAt = now + lifetimeMs
  await sql.run('delete from console_sessions where expires_at <= $1 or id = $2', now, replaces ?? '')
  await sql.run(
    `insert into console_sessions (digest, id, operator_id, method, address, user_agent, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    digest,
    id,
    operatorId,
    method,
    address,
    userAgent,
    now,
    expiresAt,
  )
  return { id, method, address, userAgent, createdAt: now, expiresAt }
}

/** Returns whether there was one. With `operatorId`, only a session of this operator is closed. */
async function closeSession(sql: Sql, id: string, operatorId?: string): Promise<boolean> {
  return (
    (await sql.run(
      'delete from console_sessions where id = $1 and (cast($2 as text) is null or operator_id = $2)',
      id,
      operatorId ?? null,
    )) > 0
  )
}

/**
 * `ofToken`: the digest that the session has if it belongs to the admin token. Returns undefined if it does not exist, has ended, or its
 * operator is not active.
 */
async function findSession(sql: Sql, digest: Uint8Array, ofToken: Uint8Array): Promise<SessionOfOperator | undefined> {
  return (await findSessions(sql, [{ digest, ofToken }]))[0]
}

/** The same for several sessions with one statement, in the order of what is asked. */
async function findSessions(sql: Sql, asked: { digest: Uint8Array; ofToken: Uint8Array }[]): Promise<(SessionOfOperator | undefined)[]> {
  const [own, ofTokens] = [asked.map(({ digest }) => digest), asked.map(({ ofToken }) => ofToken)]
  const rows = await sql.all(
    `select s.digest, ${columns}, operator_id, o.name, o.role, o.permissions, o.owner_id
       from console_sessions s left join operators o on o.id = s.operator_id and o.state = 'active'
      where (s.digest in (${listOf(own, 2)}) and o.id is not null or s.digest in (${listOf(ofTokens, 2 + own.length)}) and s.operator_id is null)
        and s.expires_at > $1`,
    await sql.now(),
    ...own,
    ...ofTokens,
  )
  const found = byDigest(rows, readSessionOfOperator)
  return asked.map(({ digest, ofToken }) => found(digest) ?? found(ofToken))
}

function readSessionOfOperator(row: Row): SessionOfOperator {
  const operatorId = textOrNull(row, 'operator_id')
  return { ...readSession(row), operator: operatorId === null ? null : { id: operatorId, name: text(row, 'name'), ...readAccess(row) } }
}

/** Newest first. An operator has few, because each ends after hours. */
async function listSessions(sql: Sql, operatorId: string): Promise<OwnSession[]> {
  const rows = await sql.all(
    `select ${columns} from console_sessions s where operator_id = $1 and expires_at > $2 order by s.created_at desc, s.id desc limit 100`,
    operatorId,
    await sql.now(),
  )
  return rows.map((row) => readSession(row) as OwnSession)
}

const columns = 's.id, method, address, user_agent, s.created_at, expires_at'

const readSession = (row: Row): Session => ({
  id: text(row, 'id'),
  method: text(row, 'method') as SignInMethod,
  address: textOrNull(row, 'address'),
  userAgent: textOrNull(row, 'user_agent'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
})

export const sessionReads = {
  findSession: read(findSession, { scope: installation, readings: null }),
  findSessions: read(findSessions, { scope: installation, readings: null }),
  listSessions: read(listSessions, { scope: installation, readings: null }),
}

export const sessionWrites = {
  openSession: write(openSession, {
    scope: installation,
    audit: (session) => (session ? when(true, 'open', 'session', session.id) : []),
    changesCaches: false,
  }),
  closeSession: write(closeSession, {
    scope: installation,
    audit: (found, [id]) => when(found, 'close', 'session', id),
    changesCaches: false,
  }),
}
