/**
 * The outbox (`webhook.once`): an event is recorded by the transaction that it reports, with one delivery for each webhook that matches it.
 * Contains IDs and no texts, so that an erasure has nothing to erase here. The turn path of each store records its own events.
 */
import type { Sql } from '../../sql.ts'
import { text } from '../columns.ts'
import { eventId } from '../../../event-types.ts'
import type { NewEvent } from '../../../event-types.ts'
import { serviceWrite } from '../operation.ts'

/** Events and their deliveries are deleted after this time. */
export const eventLifetimeMs = 30 * 24 * 60 * 60 * 1000

/** Writes nothing if no webhook matches, or if the event is recorded already. */
export async function recordEvent(sql: Sql, event: NewEvent): Promise<void> {
  const { type, subject, ownerId, agentId } = event
  // Before the webhooks are read: an event whose time is after a change of a webhook sees that change.
  const now = await sql.now()
  const listeners = await sql.all(
    `select id from webhooks where enabled = 1 and (events = '["*"]' or events like $1)
       and (owner_id is null or owner_id = $2) and (agent_id is null or agent_id = $3)`,
    `%"${type}"%`,
    ownerId,
    agentId,
  )
  if (listeners.length === 0) return
  const id = eventId(event)
  const recorded = await sql.run(
    'insert into events (id, type, subject, owner_id, agent_id, occurred_at) values ($1, $2, $3, $4, $5, $6) on conflict (id) do nothing',
    id,
    type,
    subject,
    ownerId,
    agentId,
    now,
  )
  if (recorded === 0) return
  for (const listener of listeners)
    await sql.run(
      'insert into deliveries (event_id, webhook_id, next_at, created_at) values ($1, $2, $3, $3)',
      id,
      text(listener, 'id'),
      now,
    )
}

/**
 * A query for the events of all runs that ended from `from` until before `to`, which are placeholders or texts of SQL: `id`, `type`,
 * `subject`, `owner_id`, `agent_id`, `occurred_at`. It reads the runs and not the events.
 */
export const endsOfRuns = (from: string, to: string): string =>
  `select 'evt_' || t.request_id || '_turn_' || t.state as id, 'turn.' || t.state as type, t.request_id as subject, t.owner_id, t.agent_id,
     t.ended_at as occurred_at
   from turns t where t.ended_at >= ${from} and t.ended_at < ${to} and t.state in ('completed', 'failed', 'cancelled')
   union all
   select 'evt_' || x.request_id || '_' || x.run || '_turn_released', 'turn.released', x.request_id || '_' || x.run, t.owner_id, t.agent_id,
     x.ended_at
   from turn_errors x join turns t on t.request_id = x.request_id
   where x.ended_at >= ${from} and x.ended_at < ${to} and (x.run < t.run or t.state <> 'failed')`

/** Deletes events and deliveries that are too old, at most `limit` events. Returns how many events were found. */
async function clearEvents(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const old = await sql.all(
    'select id from events where occurred_at <= $1 order by occurred_at, id limit $2',
    (await sql.now()) - eventLifetimeMs,
    limit,
  )
  for (const event of old) {
    await sql.run('delete from deliveries where event_id = $1', text(event, 'id'))
    await sql.run('delete from events where id = $1', text(event, 'id'))
  }
  return old.length
}

export const eventWrites = {
  clearEvents: serviceWrite(clearEvents, { audit: null, changesCaches: false }),
}
