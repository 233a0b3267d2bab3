/**
 * The playground key of an agent: a normal row, so that its turns are normal turns, but without a secret. Created when it is first needed.
 */
import type { Sql } from '../sql.ts'
import { text } from './columns.ts'
import { read, write } from './operation.ts'
import { ofAgent } from './scope.ts'

export type PlaygroundKeyOutcome = { kind: 'found'; apiKeyId: string } | { kind: 'agent_not_found' } | { kind: 'no_key_yet' }

async function findPlaygroundKey(sql: Sql, agentId: string): Promise<PlaygroundKeyOutcome> {
  const [row] = await sql.all(
    `select k.id from agents a left join api_keys k on k.agent_id = a.id and k.playground = 1
     where a.id = $1 and a.deleted_at is null`,
    agentId,
  )
  if (!row) return { kind: 'agent_not_found' }
  if (row['id'] === null) return { kind: 'no_key_yet' }
  return { kind: 'found', apiKeyId: text(row, 'id') }
}

/** Of two simultaneous calls, the first one's key stays. `keyId` is never shown and never gets a secret. */
async function createPlaygroundKey(sql: Sql, { id, keyId, agentId }: { id: string; keyId: string; agentId: string }): Promise<void> {
  await sql.run(
    `insert into api_keys (id, key_id, agent_id, name, permission, rate_limit, rate_window_seconds, created_at, playground)
      values ($1, $2, $3, 'playground', 'full', 1, 1, $4, 1) on conflict do nothing`,
    id,
    keyId,
    agentId,
    await sql.now(),
  )
}

export const playgroundReads = {
  findPlaygroundKey: read(findPlaygroundKey, { scope: ofAgent((id) => id, { kind: 'agent_not_found' }), readings: null }),
}

export const playgroundWrites = {
  createPlaygroundKey: write(createPlaygroundKey, {
    scope: ofAgent(({ agentId }) => agentId, undefined),
    audit: null,
    changesCaches: true,
  }),
}
