/**
 * API keys as an operator creates, sees and changes them. Handles only digests of secrets. Authentication reads keys through api-keys.ts.
 */
import { apiKeyFields } from '../../resources/api-key.ts'
import type { ApiKey, ApiKeyChange, GivenApiKey } from '../../resources/api-key.ts'
import { changedBy } from '../../resources/field.ts'
import type { Sql } from '../sql.ts'
import { maxSecretsPerKey } from './api-keys.ts'
import { integer, text } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read, serviceWrite, write } from './operation.ts'
import { ofAgent, ofKey, instead } from './scope.ts'
import { auditedOf, changed, created, when } from './audited-fields.ts'
import { columnsOf, insertRow, rowReader, updateRow } from './rows.ts'

export type NewApiKey = GivenApiKey & Pick<ApiKey, 'id' | 'keyId' | 'agentId'> & { digest: Uint8Array }

/** Returns undefined if the agent does not exist or was deleted. */
export async function createApiKey(sql: Sql, { digest, ...given }: NewApiKey): Promise<ApiKey | undefined> {
  const [agent] = await sql.all('select 1 as one from agents where id = $1 and deleted_at is null', given.agentId)
  if (!agent) return undefined
  const now = await sql.now()
  await insertRow(sql, 'api_keys', apiKeyFields, { ...given, createdAt: now })
  await insertSecret(sql, given.id, digest, now)
  return { ...given, createdAt: now, revokedAt: null, lastUsedAt: null }
}

/** Newest first, including revoked keys. */
async function listApiKeys(sql: Sql, agentId: string, { limit, before }: PageRequest): Promise<ApiKey[]> {
  const rows = await sql.all(
    `select ${columns} from api_keys where agent_id = $1 and playground = 0 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit $4`,
    agentId,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readApiKey)
}

export type ApiKeyOutcome = { kind: 'changed'; apiKey: ApiKey } | { kind: 'not_found' } | { kind: 'revoked' }
/** `endsAt`: when the first old secret ends, so that another one can be created. */
export type RotationOutcome = ApiKeyOutcome | { kind: 'too_many_secrets'; endsAt: number }

async function changeApiKey(sql: Sql, id: string, change: ApiKeyChange): Promise<ApiKeyOutcome> {
  const present = await findApiKeyRecord(sql, id)
  if (!present) return { kind: 'not_found' }
  if (present.revokedAt !== null) return { kind: 'revoked' }
  await updateRow(sql, 'api_keys', apiKeyFields, id, change)
  return { kind: 'changed', apiKey: changedBy(apiKeyFields, present, change) }
}

/** Permanent. Revoking again has no effect. */
async function revokeApiKey(sql: Sql, id: string): Promise<'revoked' | 'revoked_before' | 'not_found'> {
  const apiKey = await findApiKeyRecord(sql, id)
  if (!apiKey) return 'not_found'
  if (apiKey.revokedAt !== null) return 'revoked_before'
  await sql.run('update api_keys set revoked_at = $1 where id = $2', await sql.now(), id)
  await sql.run('delete from api_key_secrets where api_key_id = $1', id)
  return 'revoked'
}

/**
 * `conversation.identity`: a new secret for the same key, so end users keep their history. The previous secret stays valid for `graceMs`, and
 * each older one until its own time. Without a grace period, all of them end now.
 */
async function rotateApiKey(sql: Sql, id: string, digest: Uint8Array, graceMs: number): Promise<RotationOutcome> {
  const apiKey = await findApiKeyRecord(sql, id)
  if (!apiKey) return { kind: 'not_found' }
  if (apiKey.revokedAt !== null) return { kind: 'revoked' }
  const now = await sql.now()
  await sql.run('delete from api_key_secrets where api_key_id = $1 and expires_at <= $2', id, graceMs === 0 ? Number.MAX_SAFE_INTEGER : now)
  const [old] = await sql.all('select count(*) as secrets, min(expires_at) as ends_at from api_key_secrets where api_key_id = $1', id)
  if (integer(old!, 'secrets') >= maxSecretsPerKey) return { kind: 'too_many_secrets', endsAt: integer(old!, 'ends_at') }
  await sql.run('update api_key_secrets set expires_at = $1 where api_key_id = $2 and expires_at is null', now + graceMs, id)
  await insertSecret(sql, id, digest, now)
  return { kind: 'changed', apiKey }
}

/** Finds revoked keys, too, but never the playground's, which has no secret and cannot be changed. */
async function findApiKeyRecord(sql: Sql, id: string): Promise<ApiKey | undefined> {
  const [row] = await sql.all(`select ${columns} from api_keys where id = $1 and playground = 0`, id)
  return row && readApiKey(row)
}

/** The ID of the key with this ID or this public part. */
async function findApiKeyId(sql: Sql, idOrKeyId: string): Promise<string | undefined> {
  const [row] = await sql.all('select id from api_keys where id = $1 or key_id = $1', idOrKeyId)
  return row && text(row, 'id')
}

/** Stores when keys were last used: `agoMs` before now. Never moves a time back. */
async function touchApiKeys(sql: Sql, uses: { id: string; agoMs: number }[]): Promise<void> {
  const now = await sql.now()
  if (sql.engine === 'postgres') {
    // One round trip, because the lock of these writes is held during it.
    await sql.run(
      `update api_keys k set last_used_at = u.at from json_to_recordset(cast($1 as json)) as u (id text, at bigint)
       where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
      JSON.stringify(uses.map(({ id, agoMs }) => ({ id, at: Math.floor(now - agoMs) }))),
    )
    return
  }
  for (const { id, agoMs } of uses) {
    await sql.run(
      'update api_keys set last_used_at = $1 where id = $2 and (last_used_at is null or last_used_at < $1)',
      Math.floor(now - agoMs),
      id,
    )
  }
}

async function insertSecret(sql: Sql, apiKeyId: string, digest: Uint8Array, now: number): Promise<void> {
  await sql.run('insert into api_key_secrets (digest, api_key_id, created_at) values ($1, $2, $3)', digest, apiKeyId, now)
}

const columns = columnsOf(apiKeyFields)
const readApiKey = rowReader(apiKeyFields)
const audited = auditedOf(apiKeyFields)

export const apiKeyRecordReads = {
  findApiKeyId: read(findApiKeyId, {
    // By its ID or its public part, so it is known only when it is found.
    scope: ({ sees }, given) => ({
      ...instead(given),
      show: async (id) => (id !== undefined && (await sees('api_key', id)) ? id : undefined),
    }),
    readings: null,
  }),
  findApiKeyRecord: read(findApiKeyRecord, { scope: ofKey((id) => id, undefined), readings: null }),
  listApiKeys: read(listApiKeys, { scope: ofAgent((agentId) => agentId, []), readings: null }),
}

export const apiKeyRecordWrites = {
  createApiKey: write(createApiKey, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: (apiKey, [{ id }]) => created('key', id, audited, apiKey),
    changesCaches: true,
  }),
  changeApiKey: write(changeApiKey, {
    scope: ofKey((id) => id, { kind: 'not_found' }),
    before: (sql, [id]) => findApiKeyRecord(sql, id),
    audit: (outcome, [id], before) => changed('key', id, audited, before, outcome.kind === 'changed' && outcome.apiKey),
    changesCaches: true,
  }),
  revokeApiKey: write(revokeApiKey, {
    scope: ofKey((id) => id, 'not_found'),
    audit: (outcome, [id]) => when(outcome === 'revoked', 'revoke', 'key', id),
    changesCaches: true,
  }),
  rotateApiKey: write(rotateApiKey, {
    scope: ofKey((id) => id, { kind: 'not_found' }),
    audit: (outcome, [id]) => when(outcome.kind === 'changed', 'rotate', 'key', id),
    changesCaches: true,
  }),
  touchApiKeys: serviceWrite(touchApiKeys, {
    audit: null,
    changesCaches: false,
    failpoints: ['touch-keys.before-commit', 'touch-keys.after-commit'],
  }),
}
