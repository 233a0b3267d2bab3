/**
 * Webhooks (`webhook.once`, `webhook.delivered`): what the receiver got is what happened. Each end of a run that is stored arrived, nothing
 * arrived about a turn that is not stored or did not end like this, and what arrived twice has the same ID and body. Pure.
 */
import type { WebhookEvent } from '../history.ts'
import { parse } from './reading.ts'
import type { Reading, Violation } from './reading.ts'

type Received = WebhookEvent & { index: number }
type Body = { type: string; timestamp: string; data: Record<string, unknown> }

export function* checkWebhooks(reading: Reading): Generator<Violation> {
  const received = reading.events.flatMap((event, index): Received[] => (event.kind === 'webhook' ? [{ ...event, index }] : []))
  const byId = Map.groupBy(received, ({ id }) => id)
  for (const [id, deliveries] of byId) {
    yield* isSame(id, deliveries)
    yield* happened(id, deliveries[0]!, reading)
    yield* notAgain(id, deliveries, reading)
  }
  yield* isDelivered(byId, reading)
}

const violation = (what: string, received: Received[]): Violation => ({
  check: 'webhooks',
  what,
  events: received.map(({ index }) => index),
})

/**
 * What may differ: an erasure removes the end user, and feedback; a later one replaces it; a balance and what is spent of a limit are those of
 * the moment; a released turn may run again, with another version; and a document may be changed.
 */
function comparable(body: string): unknown {
  const { type, timestamp, data } = parse(body) as Body
  const { external_user_id: _user, balance_usd: _balance, title: _title, reason: _reason, ...others } = data
  const { spent_usd: _spent, held_usd: _held, unpaid_usd: _unpaid, ...rest } = others
  const { agent_version: _version, ...released } = rest
  const same = type === 'feedback.created' ? data['request_id'] : type === 'turn.released' ? released : rest
  return [type, timestamp, same]
}

function* isSame(id: string, received: Received[]): Generator<Violation> {
  const [first, ...others] = received.map(({ body }) => JSON.stringify(comparable(body)))
  if (others.some((other) => other !== first)) yield violation(`the event ${id} arrived with different bodies`, received)
}

/** The ID names the turn, the run and its end, which must be stored. */
function* happened(id: string, one: Received, { runs }: Reading): Generator<Violation> {
  const { type, data } = parse(one.body) as Body
  if (!type.startsWith('turn.')) return
  const [requestId, run] = [String(data['request_id']), Number(data['run'])]
  const status = type.slice('turn.'.length)
  const subject = status === 'released' ? `${requestId}_${run}` : requestId
  if (id !== `evt_${subject}_turn_${status}`) yield violation(`the event ${id} has the body of another one: ${subject} ${type}`, [one])
  if (runs.size === 0) return
  const stored = runs.get(requestId)
  const did =
    stored && (status === 'released' ? run < stored.run || (run === stored.run && stored.state === 'released') : stored.state === status)
  if (!did) yield violation(`the event ${id} arrived, and its turn is ${stored ? `stored as ${stored.state}` : 'not stored'}`, [one])
}

// Less than the timeout of an attempt and its lease, so no busy machine explains a second one.
const surelyLeasedMs = 15_000

/** With nothing broken, what the receiver has accepted is not sent again. */
function* notAgain(id: string, received: Received[], { broken, disturbed }: Reading): Generator<Violation> {
  for (const [place, next] of received.entries()) {
    const accepted = received.slice(0, place).findLast((one) => one.accepted)
    if (!accepted || broken(accepted.at, next.at)) continue
    if (next.at - accepted.at < surelyLeasedMs || !disturbed(accepted.at, next.at))
      yield violation(`the event ${id} was sent again after it was accepted`, [accepted, next])
  }
}

function* isDelivered(byId: Map<string, Received[]>, { events, runs }: Reading): Generator<Violation> {
  const lists = events.flatMap((event, index) => (event.kind === 'stored' && event.what === 'deliveries' ? [{ ...event, index }] : []))
  const end = lists.at(-1)
  if (!end) return
  const arrived = (id: string): boolean => (byId.get(id) ?? []).some(({ accepted }) => accepted)
  for (const { id, status } of end.deliveries) {
    if (status !== 'delivered') yield { check: 'webhooks', what: `the event ${id} is ${status} at the end`, events: [end.index] }
    else if (!arrived(id))
      yield { check: 'webhooks', what: `the event ${id} is stored as delivered, and the receiver did not accept it`, events: [end.index] }
  }
  const stored = new Set(end.deliveries.map(({ id }) => id))
  for (const [requestId, { run, state }] of runs)
    for (const id of endsOf(requestId, run, state))
      if (!arrived(id) || !stored.has(id)) yield { check: 'webhooks', what: `the event ${id} never arrived`, events: [end.index] }
}

/** Each run before the last one was released. */
function endsOf(requestId: string, run: number, state: string): string[] {
  const released = Array.from({ length: state === 'released' ? run : run - 1 }, (_, place) => `evt_${requestId}_${place + 1}_turn_released`)
  return ['completed', 'failed', 'cancelled'].includes(state) ? [...released, `evt_${requestId}_turn_${state}`] : released
}
