/** `webhook.replay`: sends the events of a range to a webhook again. */
import type { Sql } from '../../sql.ts'
import { when } from '../audited-fields.ts'
import { integer, text, textOrNull } from '../columns.ts'
import { write } from '../operation.ts'
import { withinScope } from '../scope.ts'
import type { Within } from '../scope.ts'
import { endsOfRuns, eventLifetimeMs } from './events.ts'
import { findWebhook } from './webhooks.ts'

export type ReplayOutcome =
  | { kind: 'replayed'; deliveries: number }
  | { kind: 'not_found' }
  /** Nothing was changed. */
  | { kind: 'too_many' }
  | { kind: 'too_old' }

/** More would block the turns of the embedded store for longer than a tenth of a second. */
export const maxReplayed = 10_000

/**
 * `webhook.replay`: sends everything that the webhook matches and that occurred in the range again, whether or not it was sent before. Turns are replayed
 * from the turns themselves, so also those that ended before the webhook existed or while it was disabled.
 */
async function replayDeliveries(
  sql: Sql,
  { webhookId, from, to, within }: { webhookId: string; from: number; to: number; within?: Within | undefined },
): Promise<ReplayOutcome> {
  const now = await sql.now()
  if (from < now - eventLifetimeMs) return { kind: 'too_old' }
  if (within && !(await findWebhook(sql, webhookId, within))) return { kind: 'not_found' }
  const [webhook] = await sql.all('select events, owner_id, agent_id from webhooks where id = $1', webhookId)
  if (!webhook) return { kind: 'not_found' }
  const range = [from, to, text(webhook, 'events'), textOrNull(webhook, 'owner_id'), textOrNull(webhook, 'agent_id')] as const
  const [count] = await sql.all(`select count(*) as events from (select id from (${wanted}) as w limit ${maxReplayed + 1}) as c`, ...range)
  if (integer(count!, 'events') > maxReplayed) return { kind: 'too_many' }
  await sql.run(
    `insert into events (id, type, subject, owner_id, agent_id, occurred_at)
     select id, type, subject, owner_id, agent_id, occurred_at from (${wanted}) as w where true on conflict (id) do nothing`,
    ...range,
  )
  const deliveries = await sql.run(
    `insert into deliveries (event_id, webhook_id, next_at, created_at)
     select id, $6, $7, $7 from (${wanted}) as w where true
     on conflict (event_id, webhook_id) do update set state = 'pending', attempts = 0, next_at = excluded.next_at,
       fence = deliveries.fence + 1, ended_at = null`,
    ...range,
    webhookId,
    now,
  )
  return { kind: 'replayed', deliveries }
}

/** The events of a range that a webhook matches: those of turns as the turns are stored, and all others as they were recorded. */
const wanted = `select id, type, subject, owner_id, agent_id, occurred_at from (
    ${endsOfRuns('$1', '$2')}
    union all
    select id, type, subject, owner_id, agent_id, occurred_at from events
      where occurred_at >= $1 and occurred_at < $2 and type not like 'turn.%'
  ) as happened
  where ($3 = '["*"]' or $3 like '%"' || type || '"%') and (cast($4 as text) is null or owner_id = $4) and (cast($5 as text) is null or agent_id = $5)`

export const replayWrites = {
  replayDeliveries: write(replayDeliveries, {
    scope: withinScope,
    audit: (outcome, [{ webhookId }]) => when(outcome.kind === 'replayed', 'replay', 'webhook', webhookId),
    changesCaches: true,
  }),
}
