/** The playground's key of an agent: a row like any other, so that its turns are turns, but without a secret; made when it is first needed. */
import type { Sql } from '../store.ts'
import { integer, text } from './columns.ts'

/** `maxMessageLength` in code points, of the agent's present version. */
export type PlaygroundKey = { apiKeyId: string; maxMessageLength: number }

export type PlaygroundKeyOutcome = ({ kind: 'found' } & PlaygroundKey) | { kind: 'agent_not_found' } | { kind: 'no_key_yet' }

export async function findPlaygroundKey(sql: Sql, agentId: string): Promise<PlaygroundKeyOutcome> {
  const [row] = await sql.all(
    `select v.max_message_length, k.id
     from agents a join agent_versions v on v.agent_id = a.id and v.version = a.version
       left join api_keys k on k.agent_id = a.id and k.playground = 1
     where a.id = $1 and a.deleted_at is null`,
    agentId,
  )
  if (!row) return { kind: 'agent_not_found' }
  if (row['id'] === null) return { kind: 'no_key_yet' }
  return { kind: 'found', apiKeyId: text(row, 'id'), maxMessageLength: integer(row, 'max_message_length') }
}

/** Of two calls at once the first one's key stays. `keyId` is never shown; no secret will ever stand behind it. */
export async function createPlaygroundKey(sql: Sql, { id, keyId, agentId }: { id: string; keyId: string; agentId: string }): Promise<void> {
  await sql.run(
    `insert into api_keys (id, key_id, agent_id, name, permission, rate_limit, rate_window_seconds, created_at, playground)
      values ($1, $2, $3, 'playground', 'full', 1, 1, $4, 1) on conflict do nothing`,
    id,
    keyId,
    agentId,
    await sql.now(),
  )
}
