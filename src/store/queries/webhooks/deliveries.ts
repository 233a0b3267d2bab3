/**
 * The deliveries of events to webhooks (`webhook.delivered`): claimed, ended or scheduled again, and listed. A claim is a lease and a fence, as with turns: the
 * delivery is due again at the end of the lease, and only the result of the last claim is stored.
 */
import { deliveryFields, deliveryStates } from '../../../resources/delivery.ts'
import type { Delivery, DeliveryState } from '../../../resources/delivery.ts'
import { rowReader } from '../rows.ts'
import type { Sql } from '../../sql.ts'
import { integer, integerOrNull, text } from '../columns.ts'
import type { PageRequest } from '../paging.ts'
import { readEvents, withoutTexts } from './event-data.ts'
import type { EventRecord } from './event-data.ts'
import { Values } from '../reported-turns.ts'
import { findWebhook, isForEvent, readWebhook } from './webhooks.ts'
import type { StoredWebhook } from './webhooks.ts'
import { read, serviceRead, serviceWrite, write } from '../operation.ts'
import { withinScope } from '../scope.ts'
import type { Within } from '../scope.ts'
import { when } from '../audited-fields.ts'
import { readingIf } from '../audit.ts'

/** `attempt` counts from 1. `webhook`: as it was at the claim, so an event of one owner is never sent to the URL of another. */
export type ClaimedDelivery = { eventId: string; webhookId: string; fence: number; attempt: number; webhook: StoredWebhook }

/** `released`: the attempt was cut off by a shutdown, and does not count. */
export type AttemptResult = { kind: 'delivered' } | { kind: 'again'; inMs: number } | { kind: 'failed' } | { kind: 'released' }
export type EndedAttempt = Omit<ClaimedDelivery, 'attempt' | 'webhook'> & {
  result: AttemptResult
  status: number | null
  error: string | null
}

export type DueWebhooks = { now: number; webhooks: (StoredWebhook & { nextAt: number | null })[] }

/** The enabled webhooks, each with the time of its first pending delivery, and the time of the store. */
async function listDueWebhooks(sql: Sql): Promise<DueWebhooks> {
  const rows = await sql.all(
    `select w.*, (select d.next_at from deliveries d where d.webhook_id = w.id and d.state = 'pending' order by d.next_at limit 1) as next_at
     from webhooks w where w.enabled = 1 order by w.id`,
  )
  return { now: await sql.now(), webhooks: rows.map((row) => ({ ...readWebhook(row), nextAt: integerOrNull(row, 'next_at') })) }
}

/**
 * Claims up to `limit` due deliveries of each webhook, those that are due for longest. An attempt counts when its result is stored: one whose
 * process dies does not use up the schedule.
 */
async function claimDeliveries(
  sql: Sql,
  { wanted, leaseMs }: { wanted: { webhookId: string; limit: number }[]; leaseMs: number },
): Promise<ClaimedDelivery[]> {
  const claimed: ClaimedDelivery[] = []
  const now = await sql.now()
  for (const { webhookId, limit } of wanted) {
    // Until the commit, no change of the webhook ends its deliveries (`stopRecording`).
    const webhook = await findWebhook(sql, webhookId)
    if (!webhook?.enabled) continue
    const rows = await sql.all(
      `update deliveries set next_at = $1, fence = fence + 1, status = null, error = null
       where webhook_id = $2 and event_id in (
         select d.event_id from deliveries d
         where d.webhook_id = $2 and d.state = 'pending' and d.next_at <= $3 order by d.next_at limit $4)
       returning event_id, fence, attempts`,
      // mutant: claim-without-a-lease
      now + leaseMs,
      webhookId,
      now,
      limit,
    )
    for (const row of rows)
      claimed.push({
        eventId: text(row, 'event_id'),
        webhookId,
        fence: integer(row, 'fence'),
        attempt: integer(row, 'attempts') + 1,
        webhook,
      })
  }
  return claimed
}

/** Stores the results of attempts whose claim is still the last one. One statement, however many they are. */
async function endAttempts(sql: Sql, ended: EndedAttempt[]): Promise<void> {
  const now = await sql.now()
  const rows = ended.map(({ eventId, webhookId, fence, result, status, error }) => {
    const state = result.kind === 'delivered' || result.kind === 'failed' ? result.kind : 'pending'
    return {
      event_id: eventId,
      webhook_id: webhookId,
      fence,
      state,
      next_at: result.kind === 'again' ? now + result.inMs : now,
      counted: result.kind === 'released' ? 0 : 1,
      status,
      error,
      ended_at: state === 'pending' ? null : now,
    }
  })
  await sql.run(
    `update deliveries set state = r.state, next_at = r.next_at, attempts = attempts + r.counted, status = r.status, error = r.error,
       ended_at = r.ended_at
     from (${results[sql.engine]}) as r
     where deliveries.event_id = r.event_id and deliveries.webhook_id = r.webhook_id and deliveries.fence = r.fence and deliveries.state = 'pending'`,
    JSON.stringify(rows),
  )
}

const resultColumns = ['event_id', 'webhook_id', 'fence', 'state', 'next_at', 'counted', 'status', 'error', 'ended_at']

/** The rows of a JSON list. */
const results = {
  sqlite: `select ${resultColumns.map((name) => `value ->> '$.${name}' as ${name}`).join(', ')} from json_each($1)`,
  postgres: `select * from jsonb_to_recordset(cast($1 as jsonb))
    as l (event_id text, webhook_id text, fence bigint, state text, next_at bigint, counted bigint, status bigint, error text, ended_at bigint)`,
}

export type RetryOutcome =
  | { kind: 'retried'; delivery: Delivery }
  | { kind: 'not_found' }
  /** Its webhook was for other owners or agents before. */
  | { kind: 'of_another' }

/**
 * Sends a delivery again, now, with the whole schedule, whatever its state. `within`: of a restricted principal (`operator.scope`). A webhook
 * keeps the deliveries of owners that it was for before, which cannot be sent again.
 */
async function retryDelivery(
  sql: Sql,
  { webhookId, eventId, within }: { webhookId: string; eventId: string; within?: Within | undefined },
): Promise<RetryOutcome> {
  const isSeen = !within || (await findWebhook(sql, webhookId, within))
  if (!isSeen || !(await findDelivery(sql, { webhookId, eventId, within }))) return { kind: 'not_found' }
  // The fence rises, so an attempt that still runs does not end what starts again here.
  const retried = await sql.run(
    `update deliveries set state = 'pending', attempts = 0, next_at = $1, fence = fence + 1, ended_at = null
     where event_id = $2 and webhook_id = $3
       and exists (select 1 from events e join webhooks w on ${isForEvent} where e.id = $2 and w.id = $3)`,
    await sql.now(),
    eventId,
    webhookId,
  )
  if (retried === 0) return { kind: 'of_another' }
  return { kind: 'retried', delivery: (await findDelivery(sql, { webhookId, eventId, within }))! }
}

/**
 * A delivery with the event that it sends: null if the event cannot be read. Without `withTexts`, the event has no text of an end user.
 * Undefined if the delivery does not exist.
 */
async function readDeliveredEvent(
  sql: Sql,
  { withTexts, ...wanted }: { webhookId: string; eventId: string; withTexts: boolean; within?: Within | undefined },
): Promise<{ delivery: Delivery; event: EventRecord | null } | undefined> {
  if (wanted.within && !(await findWebhook(sql, wanted.webhookId, wanted.within))) return undefined
  const delivery = await findDelivery(sql, { within: undefined, ...wanted })
  if (!delivery) return undefined
  const [event = null] = (await readEvents(sql, [wanted.eventId])).events
  return { delivery, event: event && !withTexts ? withoutTexts(event) : event }
}

async function findDelivery(
  sql: Sql,
  { webhookId, eventId, within }: { webhookId: string; eventId: string; within: Within | undefined },
): Promise<Delivery | undefined> {
  const values = new Values()
  const [row] = await sql.all(
    `select ${columns} from deliveries d join events e on e.id = d.event_id
      where d.event_id = ${values.add(eventId)} and d.webhook_id = ${values.add(webhookId)} ${isWithin(within, values)}`,
    ...values.list,
  )
  return row && readDelivery(row)
}

/** A condition for events `e`. */
export function isWithin(within: Within | undefined, values: Values): string {
  if (!within) return ''
  const ofOwner = `and e.owner_id = ${values.add(within.ownerId)}`
  return within.agentId === null ? ofOwner : `${ofOwner} and e.agent_id = ${values.add(within.agentId)}`
}

/** Newest first. Without a state, the newest of each state are merged, so that each list is a range of one index. */
async function listDeliveries(
  sql: Sql,
  { webhookId, state, within }: { webhookId: string; state?: DeliveryState | undefined; within?: Within | undefined },
  { limit, before }: PageRequest,
): Promise<Delivery[]> {
  const found: Delivery[] = []
  if (within && !(await findWebhook(sql, webhookId, within))) return found
  for (const one of state === undefined ? deliveryStates : [state]) {
    const values = new Values()
    const rows = await sql.all(
      `select ${columns} from deliveries d join events e on e.id = d.event_id
       where d.webhook_id = ${values.add(webhookId)} and d.state = ${values.add(one)}
         and (d.created_at, d.event_id) < (${values.add(before.createdAt)}, ${values.add(before.id)}) ${isWithin(within, values)}
       order by d.created_at desc, d.event_id desc limit ${values.add(limit)}`,
      ...values.list,
    )
    found.push(...rows.map(readDelivery))
  }
  const newestFirst = (one: Delivery, other: Delivery): number => other.createdAt - one.createdAt || (other.id > one.id ? 1 : -1)
  return found.toSorted(newestFirst).slice(0, limit)
}

export type Backlog = { pending: number; oldestDueMs: number }

/** The pending deliveries of enabled webhooks, and for how long the oldest has been due, or 0. */
async function deliveryBacklog(sql: Sql): Promise<Backlog> {
  const [row] = await sql.all(
    `select count(*) as pending, min(d.next_at) as oldest from deliveries d join webhooks w on w.id = d.webhook_id and w.enabled = 1
     where d.state = 'pending'`,
  )
  const oldest = integerOrNull(row!, 'oldest')
  return { pending: integer(row!, 'pending'), oldestDueMs: oldest === null ? 0 : Math.max(0, (await sql.now()) - oldest) }
}

const columns = `d.event_id as id, e.type, d.state, d.attempts, case when d.state = 'pending' then d.next_at end as next_attempt_at,
  d.status as last_status, d.error as last_error, d.created_at, d.ended_at`
const readDelivery = rowReader(deliveryFields)

export const deliveryReads = {
  listDueWebhooks: serviceRead(listDueWebhooks),
  listDeliveries: read(listDeliveries, {
    scope: withinScope,
    readings: null,
  }),
  readDeliveredEvent: read(readDeliveredEvent, {
    scope: withinScope,
    readings: (found, { eventId, withTexts }) => readingIf(withTexts && found?.event, 'event', eventId),
  }),
  deliveryBacklog: serviceRead(deliveryBacklog, 'report'),
}

export const deliveryWrites = {
  retryDelivery: write(retryDelivery, {
    scope: withinScope,
    audit: ({ kind }, [{ eventId }]) => when(kind === 'retried', 'retry', 'delivery', eventId),
    changesCaches: true,
  }),
  claimDeliveries: serviceWrite(claimDeliveries, {
    audit: null,
    changesCaches: false,
    failpoints: ['claim-deliveries.before-commit', 'claim-deliveries.after-commit'],
  }),
  endAttempts: serviceWrite(endAttempts, {
    audit: null,
    changesCaches: false,
    failpoints: ['end-attempts.before-commit', 'end-attempts.after-commit'],
  }),
}
