/**
 * Records what webhooks are notified of, within the transaction that it reports (`webhook.once`), for the turn path. Writes nothing if no
 * webhook matches. queries/webhooks/events.ts does the same for all other writes.
 */
import type { DatabaseSync } from 'node:sqlite'
import { eventId } from '../../event-types.ts'
import { newThresholds } from '../../spend-limits.ts'
import type { NewEvent } from '../../event-types.ts'
import type { Row } from '../sql.ts'

export type EventStatements = ReturnType<typeof prepareEventStatements>

export function prepareEventStatements(db: DatabaseSync) {
  return {
    findWebhook: db.prepare('select 1 from webhooks where enabled = 1 limit 1'),
    findListeners: db.prepare(`select id from webhooks where enabled = 1 and (events = '["*"]' or events like ?)
      and (owner_id is null or owner_id = ?) and (agent_id is null or agent_id = ?)`),
    insertEvent: db.prepare(`insert into events (id, type, subject, owner_id, agent_id, occurred_at) values (?, ?, ?, ?, ?, ?)
      on conflict (id) do nothing`),
    insertDelivery: db.prepare('insert into deliveries (event_id, webhook_id, next_at, created_at) values (?, ?, ?, ?)'),
    // claimed by a process that is dead: an attempt without a result
    endAllClaims: db.prepare(
      "update deliveries set next_at = 0 where state = 'pending' and fence > 0 and status is null and error is null",
    ),
    findBalance: db.prepare('select balance, unpaid, low_balance from owners where id = ?'),
    findSpendingUse: db.prepare(`select id, spent + unpaid as used, max_amount, reported_limit, reported_percent from spending
      where id in (select value from json_each(?))`),
    markReported: db.prepare('update spending set reported_limit = ?, reported_percent = ? where id = ?'),
    findLastCredit: db.prepare(`select id from ledger where owner_id = ? and kind = 'credit' order by created_at desc, id desc limit 1`),
  }
}

/** Does nothing if the event is recorded already, or no webhook matches it. */
function recordEvent(sql: EventStatements, event: NewEvent, at: number): void {
  const { type, subject, ownerId, agentId } = event
  const listeners = sql.findListeners.all(`%"${type}"%`, ownerId, agentId)
  if (listeners.length === 0) return
  const id = eventId(event)
  if (sql.insertEvent.run(id, type, subject, ownerId, agentId, at).changes === 0n) return
  for (const listener of listeners) sql.insertDelivery.run(id, listener['id']!, at, at)
}

type End = { state: 'completed' | 'failed' | 'released' | 'cancelled'; charge?: Charge | null | undefined }
type Charge = { ledgerEntryId: string; charged: bigint }

/** What the end of a run causes: its own event, reached spend limits and a low balance. Most services have no webhook, so one look is all. */
export function recordEnd(sql: EventStatements, turn: Row, { state, charge }: End, at: number): void {
  if (!sql.findWebhook.get()) return
  const { request_id: requestId, owner_id: ownerId, agent_id: agentId } = turn as Record<string, string>
  const countsIn = turn['counts_in'] as string | null
  // A turn may be released more than once.
  const subject = state === 'released' ? `${requestId}_${turn['run']}` : requestId!
  recordEvent(sql, { type: `turn.${state}`, subject, ownerId: ownerId!, agentId: agentId! }, at)
  if (countsIn !== null) recordReachedLimits(sql, { ownerId: ownerId!, agentId: agentId!, countsIn }, at)
  if (charge) recordLowBalance(sql, turn, charge, at)
}

/** Whether this charge brought the balance below the operator's threshold, or below what the turn held. */
function recordLowBalance(sql: EventStatements, turn: Row, charge: Charge, at: number): void {
  const ownerId = turn['owner_id'] as string
  const owner = sql.findBalance.get(ownerId)!
  const balance = owner['balance'] as bigint
  const low = owner['low_balance'] as bigint | null
  if (low !== null && balance < low && balance + charge.charged >= low)
    recordEvent(sql, { type: 'balance.low', subject: charge.ledgerEntryId, ownerId, agentId: null }, at)
  // Once until the next credit.
  if (balance - (owner['unpaid'] as bigint) < (turn['hold'] as bigint)) {
    const credit = sql.findLastCredit.get(ownerId)
    if (credit) recordEvent(sql, { type: 'balance.exhausted', subject: credit['id'] as string, ownerId, agentId: null }, at)
  }
}

/** A turn that a limit has refused: what it was to hold, and the present limits by window if they are not those of the last admission. */
type Refused = { needed: bigint; limits?: Map<bigint, bigint> }

/** `spend_limit.reached`: the thresholds that the windows in `countsIn` have reached, each once for each limit of a window. */
export function recordReachedLimits(
  sql: EventStatements,
  turn: { ownerId: string; agentId: string; countsIn: string },
  at: number,
  { needed, limits }: Refused = { needed: 0n },
): void {
  const { ownerId, agentId, countsIn } = turn
  const type = 'spend_limit.reached'
  if (sql.findListeners.all(`%"${type}"%`, ownerId, agentId).length === 0) return
  for (const row of sql.findSpendingUse.all(countsIn)) {
    const id = row['id'] as bigint
    const limit = limits?.get(id) ?? (row['max_amount'] as bigint)
    const reported = row['reported_limit'] === limit ? Number(row['reported_percent']) : 0
    const reached = newThresholds({ limit, used: row['used'] as bigint, needed, reported })
    if (reached.length === 0) continue
    for (const percent of reached) recordEvent(sql, { type, subject: `${id}_${limit}_${percent}`, ownerId, agentId }, at)
    sql.markReported.run(limit, reached.at(-1)!, id)
  }
}
