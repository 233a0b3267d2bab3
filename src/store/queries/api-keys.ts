/** API keys for authentication. The secret is never stored, only its digest. */
import type { Row, Sql } from '../sql.ts'
import { bytes, integer, integerOrNull, text, textOrNull } from './columns.ts'
import { serviceRead } from './operation.ts'

/** `expiresInMs` counts from the read. Null: valid until it is replaced or the key is revoked. */
export type StoredSecret = { digest: Uint8Array; expiresInMs: number | null }

/** The current secret, and old ones in their grace periods. One more rotation with a grace period is refused. */
export const maxSecretsPerKey = 5

export type StoredApiKey = {
  id: string
  agentId: string
  /** The agent of the key. */
  ownerId: string
  /** Of the agent, as it is now. */
  agentName: string
  agentCreatedAt: number
  permission: 'full' | 'read-only'
  rateLimit: number
  rateWindowSeconds: number
  defaultExternalUserId: string | null
  mcp: boolean
  /** The secrets that have not expired: more than one during a rotation, none for a playground key. */
  secrets: StoredSecret[]
}

/**
 * The keys with these public IDs, in their order; undefined for one that does not exist or is revoked. At most a few hundred. Keys of a
 * deleted agent stay valid, so that their requests get `agent_not_found` (`order.authentication`).
 */
async function findApiKeys(sql: Sql, keyIds: string[]): Promise<(StoredApiKey | undefined)[]> {
  const keys = await sql.all(
    `select k.key_id, k.id, k.agent_id, a.owner_id, v.name as agent_name, a.created_at as agent_created_at, k.permission, k.rate_limit,
       k.rate_window_seconds, k.default_external_user_id, k.mcp
     from api_keys k join agents a on a.id = k.agent_id join agent_versions v on v.agent_id = a.id and v.version = a.version
     where k.key_id in (${placesFrom(1, keyIds)}) and k.revoked_at is null and k.playground = 0`,
    ...keyIds,
  )
  if (keys.length === 0) return keyIds.map(() => undefined)
  const now = await sql.now()
  const secrets = await sql.all(
    `select api_key_id, digest, expires_at - $1 as expires_in_ms from api_key_secrets
     where api_key_id in (${placesFrom(2, keys)}) and (expires_at is null or expires_at > $1)
     order by created_at`,
    now,
    ...keys.map((key) => text(key, 'id')),
  )
  const found = new Map(keys.map((key) => [text(key, 'key_id'), readKey(key, secrets)]))
  return keyIds.map((keyId) => found.get(keyId))
}

const placesFrom = (first: number, values: unknown[]): string => values.map((_, index) => `$${first + index}`).join(', ')

function readKey(key: Row, secrets: Row[]): StoredApiKey {
  const id = text(key, 'id')
  return {
    id,
    agentId: text(key, 'agent_id'),
    ownerId: text(key, 'owner_id'),
    agentName: text(key, 'agent_name'),
    agentCreatedAt: integer(key, 'agent_created_at'),
    permission: text(key, 'permission') === 'full' ? 'full' : 'read-only',
    rateLimit: integer(key, 'rate_limit'),
    rateWindowSeconds: integer(key, 'rate_window_seconds'),
    defaultExternalUserId: textOrNull(key, 'default_external_user_id'),
    mcp: integer(key, 'mcp') === 1,
    secrets: secrets
      .filter((row) => text(row, 'api_key_id') === id)
      .map((row) => ({ digest: bytes(row, 'digest'), expiresInMs: integerOrNull(row, 'expires_in_ms') })),
  }
}

export const apiKeyReads = {
  findApiKeys: serviceRead(findApiKeys, 'key'),
}
