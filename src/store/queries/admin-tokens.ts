/** Tokens of the admin API for programs. Only a digest of each is stored (`operator.token`). */
import { adminTokenFields } from '../../resources/admin-token.ts'
import type { AdminToken, GivenAdminToken } from '../../resources/admin-token.ts'
import type { Sql } from '../sql.ts'
import { byDigest, listOf, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read, write } from './operation.ts'
import { installation } from './scope.ts'
import { auditedOf, created, when } from './audited-fields.ts'
import { columnsOf, insertRow, rowReader } from './rows.ts'

export type NewAdminToken = GivenAdminToken & { id: string; digest: Uint8Array }

/** `agent_not_found`: also an agent of another owner than `ownerId`. `expires_too_early`: not in the future by the store's clock. */
export type CreateAdminTokenOutcome =
  | { kind: 'created'; token: AdminToken }
  | { kind: 'owner_not_found' }
  | { kind: 'agent_not_found' }
  | { kind: 'expires_too_early' }

async function createAdminToken(sql: Sql, given: NewAdminToken): Promise<CreateAdminTokenOutcome> {
  const now = await sql.now()
  const { digest, ...fields } = given
  const { id, agentId, expiresAt } = fields
  let { ownerId } = fields
  if (ownerId !== null && (await sql.all('select id from owners where id = $1', ownerId)).length === 0) return { kind: 'owner_not_found' }
  if (agentId !== null) {
    const [agent] = await sql.all('select owner_id from agents where id = $1 and deleted_at is null', agentId)
    const owner = agent && text(agent, 'owner_id')
    if (owner === undefined || owner !== (ownerId ?? owner)) return { kind: 'agent_not_found' }
    ownerId = owner
  }
  if (expiresAt !== null && expiresAt <= now) return { kind: 'expires_too_early' }
  await insertRow(sql, 'admin_tokens', adminTokenFields, { ...fields, ownerId, createdAt: now }, { digest })
  return { kind: 'created', token: (await findAdminToken(sql, id))! }
}

/** With one statement, in the order of the digests. Undefined for one that does not exist, was revoked or has expired. */
async function findValidAdminTokens(sql: Sql, digests: Uint8Array[]): Promise<((AdminToken & { now: number }) | undefined)[]> {
  const now = await sql.now()
  const rows = await sql.all(
    // mutant: operator.token
    `select digest, ${columns} from admin_tokens
      where digest in (${listOf(digests, 2)}) and revoked_at is null and (expires_at is null or expires_at > $1)`,
    now,
    ...digests,
  )
  return digests.map(byDigest(rows, (row) => ({ ...readAdminToken(row), now })))
}

async function findAdminToken(sql: Sql, id: string): Promise<AdminToken | undefined> {
  const [row] = await sql.all(`select ${columns} from admin_tokens where id = $1`, id)
  return row && readAdminToken(row)
}

/** Newest first. */
async function listAdminTokens(sql: Sql, { limit, before }: PageRequest): Promise<AdminToken[]> {
  const rows = await sql.all(
    `select ${columns} from admin_tokens where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readAdminToken)
}

/** Returns the token if this call revoked it, null if it was revoked before, and undefined if it does not exist. */
async function revokeAdminToken(sql: Sql, id: string): Promise<AdminToken | null | undefined> {
  const revoked = await sql.run('update admin_tokens set revoked_at = $1 where id = $2 and revoked_at is null', await sql.now(), id)
  const token = await findAdminToken(sql, id)
  return revoked === 0 && token ? null : token
}

async function touchAdminToken(sql: Sql, id: string): Promise<void> {
  await sql.run('update admin_tokens set last_used_at = $1 where id = $2', await sql.now(), id)
}

const columns = columnsOf(adminTokenFields)
const readAdminToken = rowReader(adminTokenFields)

export const adminTokenReads = {
  findAdminToken: read(findAdminToken, { scope: installation, readings: null }),
  findValidAdminTokens: read(findValidAdminTokens, { scope: installation, readings: null }),
  listAdminTokens: read(listAdminTokens, { scope: installation, readings: null }),
}

export const adminTokenWrites = {
  createAdminToken: write(createAdminToken, {
    scope: installation,
    audit: (outcome, [{ id }]) => created('token', id, auditedOf(adminTokenFields), outcome.kind === 'created' && outcome.token),
    changesCaches: false,
  }),
  revokeAdminToken: write(revokeAdminToken, {
    scope: installation,
    audit: (token, [id]) => when(token, 'revoke', 'token', id),
    changesCaches: false,
  }),
  touchAdminToken: write(touchAdminToken, { scope: installation, audit: null, changesCaches: false }),
}
