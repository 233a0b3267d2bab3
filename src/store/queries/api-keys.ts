/** API keys for authentication. The secret is never stored, only its digest. */
import type { Sql } from '../sql.ts'
import { bytes, integer, integerOrNull, text, textOrNull } from './columns.ts'

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
 * The key with this public ID, or undefined if it does not exist or is revoked. Keys of a deleted agent stay valid, so that their requests
 * get `agent_not_found` (`order.authentication`).
 */
export async function findApiKey(sql: Sql, keyId: string): Promise<StoredApiKey | undefined> {
  const [key] = await sql.all(
    `select k.id, k.agent_id, a.owner_id, v.name as agent_name, a.created_at as agent_created_at, k.permission, k.rate_limit, k.rate_window_seconds,
       k.default_external_user_id, k.mcp
     from api_keys k join agents a on a.id = k.agent_id join agent_versions v on v.agent_id = a.id and v.version = a.version
     where k.key_id = $1 and k.revoked_at is null and k.playground = 0`,
    keyId,
  )
  if (!key) return undefined
  const now = await sql.now()
  const secrets = await sql.all(
    `select digest, expires_at - $2 as expires_in_ms from api_key_secrets
     where api_key_id = $1 and (expires_at is null or expires_at > $2)
     order by created_at`,
    text(key, 'id'),
    now,
  )
  return {
    id: text(key, 'id'),
    agentId: text(key, 'agent_id'),
    ownerId: text(key, 'owner_id'),
    agentName: text(key, 'agent_name'),
    agentCreatedAt: integer(key, 'agent_created_at'),
    permission: text(key, 'permission') === 'full' ? 'full' : 'read-only',
    rateLimit: integer(key, 'rate_limit'),
    rateWindowSeconds: integer(key, 'rate_window_seconds'),
    defaultExternalUserId: textOrNull(key, 'default_external_user_id'),
    mcp: integer(key, 'mcp') === 1,
    secrets: secrets.map((row) => ({ digest: bytes(row, 'digest'), expiresInMs: integerOrNull(row, 'expires_in_ms') })),
  }
}
