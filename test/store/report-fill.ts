/**
 * Fills a store with turns over several months for the tests of reports: three owners with six agents and twelve keys, end users with the
 * same name at several of them, turns in every state, amounts above 2^53 in sum. The statements are the same on both stores.
 */
import { randomUUID } from 'node:crypto'
import { Bench } from './conformance.ts'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { initialOf } from '../../src/resources/field.ts'
import type { TestStore } from './conformance.ts'

export const filledFrom = Date.UTC(2026, 2, 27)
export const filledTo = Date.UTC(2026, 5, 3)

export type Key = { ownerId: string; agentId: string; apiKeyId: string }
type Run = (statement: string) => void | Promise<void>

/** Through the store. `apiKeyId` is ordered as created. */
export async function makeKeys(store: TestStore): Promise<Key[]> {
  const owners = [await Bench.make(store, 1n), await Bench.make(store, 1n), await Bench.make(store, 1n)]
  const [first, second, third] = owners
  const agents = [first!, await first!.another(), await first!.another(), second!, await second!.another(), third!]
  const keys: Key[] = []
  for (const { ownerId, agentId, apiKeyId } of agents) {
    const id = randomUUID().slice(0, 8)
    const digest = Buffer.from(id.padEnd(32, 'y'))
    const key = { id: `key_${id}`, keyId: `${id}ijklmnop`, agentId, name: `web ${id}`, permission: 'full' as const, digest }
    await store.write.createApiKey({ ...initialOf(apiKeyFields), ...key })
    keys.push({ ownerId, agentId, apiKeyId }, { ownerId, agentId, apiKeyId: key.id })
  }
  return keys
}

/**
 * `users` end users write through each key, with the same names. Every 20th turn has no reply. Of the completed ones, some have a charge of
 * zero, some of 10^13 and some wrote something off.
 */
export async function fillTurns(
  run: Run,
  keys: Key[],
  { turns, users, noFingerprint }: { turns: number; users: number; noFingerprint: string },
) {
  const span = filledTo - filledFrom
  for (const [at, { ownerId, agentId, apiKeyId }] of keys.entries()) {
    await run(`with recursive n (n) as (select cast(0 as bigint) union all select n + 1 from n where n < ${users - 1})
      insert into conversations (id, api_key_id, external_user_id, message_count, message_tokens, created_at, last_message_at)
      select 'conv_${at}_' || n, '${apiKeyId}', 'user ' || n, 0, 0, ${filledFrom}, null from n`)
    const own = Math.floor((turns + keys.length - 1 - at) / keys.length)
    const numbered = `with recursive n (n) as (select cast(0 as bigint) union all select n + 1 from n where n < ${own - 1})`
    // Spread over the months, but not in order.
    const ended = `${filledFrom} + (n * 7919 + ${at}) * 104729 % ${span}`
    const state = `case when n % 20 = 3 then (case when n % 3 = 0 then 'failed' else 'released' end) else 'completed' end`
    const charged = `case when n % 20 = 3 then null when n % 50 = 1 then 0 when n % 1000 = 4 then 10000000000000 + n else 1 + n * 31 % 99991 end`
    await run(`${numbered}
      insert into turns (request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id, agent_version, state, run, attempt,
        fence, hold, prompt_price, completion_price, message, message_tokens, prompt_tokens, completion_tokens, usage_estimated, charged, unpaid,
        created_at, started_at, ended_at)
      select 'turn_${at}_' || n, '${apiKeyId}', null, ${noFingerprint}, 'conv_${at}_' || (n * 13 % ${users}), '${ownerId}', '${agentId}', 1, ${state}, 1,
        1, 1, 0, 1, 1, 'hello', 3, case when n % 20 = 3 then null else 20 + n % 7 end, case when n % 20 = 3 then null else n % 11 end,
        case when n % 20 = 3 then null else 0 end, ${charged}, case when n % 20 = 3 then n else 0 end, ${ended}, ${ended}, ${ended} from n`)
    await run(`insert into ledger (id, owner_id, kind, amount, written_off, request_id, created_at)
      select 'led_' || request_id, owner_id, 'charge', -charged, case when charged % 10 = 7 then charged else 0 end, request_id, ended_at
      from turns where state = 'completed' and api_key_id = '${apiKeyId}'`)
    await run(`insert into turn_errors (request_id, run, cause_kind, ended_at)
      select request_id, 1, 'internal_error', ended_at from turns where state in ('failed', 'released') and api_key_id = '${apiKeyId}'`)
  }
}
