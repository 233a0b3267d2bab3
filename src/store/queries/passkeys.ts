/**
 * The passkeys of operators: public keys with a counter that only goes up (`operator.passkey`). A challenge is used in the transaction of what
 * it allows. An operator with a company account has none (`operator.oidc`).
 */
import type { Row, Sql } from '../sql.ts'
import { bytes, integer, integerOrNull, text } from './columns.ts'
import { endSessions, findOperator } from './operators.ts'
import type { Operator } from './operators.ts'
import { useToken } from './sign-in-secrets.ts'
import type { TokenUse, UsedToken } from './sign-in-secrets.ts'
import { read, write } from './operation.ts'
import { installation } from './scope.ts'
import { differing, when } from './audited-fields.ts'

export type Passkey = { id: string; name: string; transports: string[]; createdAt: number; lastUsedAt: number | null }
export type PasskeyKey = { id: string; publicKey: Uint8Array; counter: number; transports: string[] }
export type NewPasskey = PasskeyKey & { operatorId: string; name: string; challenge: UsedToken }

type TokenRefused = { kind: Exclude<TokenUse, 'accepted'> }
/** `refused`: the operator is not active, or has a company account. */
export type AddPasskeyOutcome = { kind: 'added'; passkey: Passkey } | { kind: 'exists' | 'too_many' | 'refused' } | TokenRefused
/** `counter`: not above the stored one, so there are two copies of the passkey, or it was removed. */
export type UsePasskeyOutcome = { kind: 'accepted'; operator: Operator } | { kind: 'counter' } | TokenRefused
/** `only_sign_in`: without it, the operator could not sign in again. */
export type RemovePasskeyOutcome = 'removed' | 'not_found' | 'only_sign_in'

// Enough for every device of a person, and few enough to list.
export const maxPasskeys = 20

/** Oldest first. */
async function listPasskeys(sql: Sql, operatorId: string): Promise<Passkey[]> {
  const rows = await sql.all(`select ${columns} from passkeys where operator_id = $1 order by created_at, id`, operatorId)
  return rows.map(readPasskey)
}

/** For a sign-in. */
async function findPasskey(sql: Sql, id: string): Promise<(PasskeyKey & { operator: Operator }) | undefined> {
  const [row] = await sql.all('select id, operator_id, public_key, counter, transports from passkeys where id = $1', id)
  const operator = row && (await findOperator(sql, text(row, 'operator_id')))
  return operator && { ...readKey(row), operator }
}

async function addPasskey(sql: Sql, given: NewPasskey): Promise<AddPasskeyOutcome> {
  const { id, operatorId, name, publicKey, counter, transports, challenge } = given
  const use = await useToken(sql, challenge)
  if (use !== 'accepted') return { kind: use }
  // The update also makes two additions at once wait for each other.
  if (!(await touchOperator(sql, operatorId))) return { kind: 'refused' }
  if ((await listPasskeys(sql, operatorId)).length >= maxPasskeys) return { kind: 'too_many' }
  const now = await sql.now()
  const added = await sql.run(
    `insert into passkeys (id, operator_id, name, public_key, counter, transports, created_at) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (id) do nothing`,
    id,
    operatorId,
    name,
    publicKey,
    counter,
    JSON.stringify(transports),
    now,
  )
  return added > 0 ? { kind: 'added', passkey: { id, name, transports, createdAt: now, lastUsedAt: null } } : { kind: 'exists' }
}

/** Authenticators without a counter always send 0. */
async function usePasskey(sql: Sql, given: { id: string; counter: number; challenge: UsedToken }): Promise<UsePasskeyOutcome> {
  const { id, counter, challenge } = given
  const use = await useToken(sql, challenge)
  if (use !== 'accepted') return { kind: use }
  const used = await sql.run(
    'update passkeys set counter = $1, last_used_at = $2 where id = $3 and (counter < $1 or (counter = 0 and $1 = 0))',
    counter,
    await sql.now(),
    id,
  )
  const found = used > 0 ? await findPasskey(sql, id) : undefined
  return found ? { kind: 'accepted', operator: found.operator } : { kind: 'counter' }
}

/** Ends every session of the operator but `keepSession`, because the passkey may have opened them. */
async function removePasskey(sql: Sql, operatorId: string, id: string, keepSession: string | null): Promise<RemovePasskeyOutcome> {
  await touchOperator(sql, operatorId)
  const operator = await findOperator(sql, operatorId)
  const passkeys = await listPasskeys(sql, operatorId)
  if (!operator || !passkeys.some((one) => one.id === id)) return 'not_found'
  if (!operator.hasPassword && !operator.hasCompanyAccount && passkeys.length === 1) return 'only_sign_in'
  await sql.run('delete from passkeys where id = $1 and operator_id = $2', id, operatorId)
  await endSessions(sql, operatorId, keepSession)
  return 'removed'
}

/**
 * Records that what an operator signs in with has changed, so that a sign-in that was checked before is refused (`openSession`). Returns false
 * for one who is not active or has a company account.
 */
async function touchOperator(sql: Sql, operatorId: string): Promise<boolean> {
  const changed = await sql.run(
    `update operators set updated_at = case when updated_at < $1 then $1 else updated_at + 1 end
      where id = $2 and state = 'active' and oidc_subject is null`,
    await sql.now(),
    operatorId,
  )
  return changed > 0
}

const columns = 'id, name, transports, created_at, last_used_at'

const readPasskey = (row: Row): Passkey => ({
  id: text(row, 'id'),
  name: text(row, 'name'),
  transports: JSON.parse(text(row, 'transports')) as string[],
  createdAt: integer(row, 'created_at'),
  lastUsedAt: integerOrNull(row, 'last_used_at'),
})

const readKey = (row: Row): PasskeyKey => ({
  id: text(row, 'id'),
  publicKey: bytes(row, 'public_key'),
  counter: integer(row, 'counter'),
  transports: JSON.parse(text(row, 'transports')) as string[],
})

export const passkeyReads = {
  findPasskey: read(findPasskey, { scope: installation, readings: null }),
  listPasskeys: read(listPasskeys, { scope: installation, readings: null }),
}

export const passkeyWrites = {
  addPasskey: write(addPasskey, {
    scope: installation,
    audit: (outcome, [{ id, operatorId, name }]) =>
      outcome.kind === 'added' ? differing('create', 'passkey', id, {}, { operator_id: operatorId, name }) : [],
    changesCaches: false,
  }),
  usePasskey: write(usePasskey, { scope: installation, audit: null, changesCaches: false }),
  removePasskey: write(removePasskey, {
    scope: installation,
    audit: (outcome, [, id]) => when(outcome === 'removed', 'delete', 'passkey', id),
    changesCaches: false,
  }),
}
