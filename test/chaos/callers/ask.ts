/**
 * A caller that follows the specification: one message with one Idempotency-Key, sent again with the same key until the response is final.
 * It may continue a broken stream before it sends the key again, ask to cancel the turn, or not wait for the reply and follow or poll the
 * turn instead. Records every attempt in the history. Gives up a key only when that is allowed: if a balance or a limit stays used up, and at the
 * end of the run.
 */
import { Agent } from 'node:http'
import { setTimeout as pass } from 'node:timers/promises'
import type { CallEvent, Flaw, History } from '../history.ts'
import type { Random } from '../random.ts'
import { createTurnCalls, pathOfTurn } from './about-turn.ts'
import type { Cancelling, Target, Turn, TurnCalls } from './about-turn.ts'
import { send } from './send.ts'
import type { Came } from './send.ts'

/** How one attempt is made. Retries are made without it, except that a caller that continues its streams always does. */
export type Manner = Pick<CallEvent, 'leaves' | 'reads' | 'halfCloses' | 'flaw' | 'final' | 'prefersAsync'> & {
  transport: 'chat' | 'stream'
  supervised?: number
  /** A stream that ends without a final event is continued, before the key is sent again. */
  continues?: boolean
  /** For a stream: asks to cancel the turn this long after that many events. */
  cancels?: Cancelling
}

/** `refused`: final, and nothing was stored. */
export type Outcome = 'replied' | 'failed' | 'cancelled' | 'refused' | 'open'

type Attempt = Came & { call: number }

export type Asking = {
  once(turn: Turn, manner: Manner, random: Random, connections?: Agent): Promise<Attempt>
  /** Until it is final. `copies` more are sent with the first attempt, to other places. */
  resolve(turn: Turn, manner: Manner & { copies?: number }, random: Random, connections: Agent): Promise<Outcome>
  counts: Record<'calls' | 'retries' | 'left' | 'resumes' | 'cancels' | 'accepted' | 'polls' | 'feedback', number>
}

// The codes to retry with the same key.
const comeBack = new Set([
  'accepted',
  'service_unavailable',
  'api_rate_limit_unavailable',
  'idempotency_in_progress',
  'conversation_busy',
  'rate_limit_exceeded',
])
// Callers honor Retry-After up to this limit, because a run is short.
const maxPauseMs = 1000
// A provider error may pass, and a released turn runs again. The same error after this many attempts is the turn's stored failure.
const maxFailures = 3
const maxEmptyBalances = 5
// After this many connections to one stream, a caller sends its key again. Or after this many errors in a row, because a released turn runs
// again only with its key.
const maxResumes = 20
const maxErrorsInARow = 2
// Of the callers with a reply.
const feedbackShare = 0.3

type AskingOptions = {
  target: Target
  history: History
  /** No further attempts are made. */
  over: AbortSignal
}

export function createAsking({ target, history, over }: AskingOptions): Asking {
  const counts = { calls: 0, retries: 0, left: 0, resumes: 0, cancels: 0, accepted: 0, polls: 0, feedback: 0 }
  const { cancel, poll, giveFeedback }: TurnCalls = createTurnCalls({ target, history, over, counts })

  async function once(turn: Turn, manner: Manner, random: Random, connections?: Agent): Promise<Attempt> {
    const { supervised = random.int(0, target.urls.length - 1), transport, flaw, continues: _, cancels, prefersAsync, ...how } = manner
    const { key, user, idempotencyKey, message } = turn
    const call = ++counts.calls
    let cancelling: Promise<void> | undefined
    const header = flaw === 'no Idempotency-Key' ? null : flaw === 'long Idempotency-Key' ? idempotencyKey.padEnd(256, 'x') : idempotencyKey
    history.write({
      kind: 'call',
      at: history.now(),
      call,
      key: key.name,
      user,
      idempotencyKey: header,
      transport,
      message,
      supervised,
      ...(flaw === undefined ? {} : { flaw }),
      ...(prefersAsync ? { prefersAsync } : {}),
      ...how,
    })
    const came = await send({
      ...how,
      url: `${target.urls[supervised]}/v1/agents/${flaw === 'another agent' ? `${key.agentId}x` : key.agentId}/${transport === 'chat' ? 'chat' : 'chat/stream'}`,
      headers: {
        'content-type': 'application/json',
        ...(prefersAsync ? { prefer: 'respond-async' } : {}),
        ...(header === null ? {} : { 'idempotency-key': Buffer.from(header).toString('latin1') }),
        ...(flaw === 'no key' ? {} : { authorization: `Bearer ${flaw === 'wrong secret' ? `${key.text}x` : key.text}` }),
      },
      body: bodyOf(turn, flaw),
      connections: how.halfCloses ? undefined : connections,
      patienceMs: random.int(8_000, 20_000),
      now: history.now,
      onEvents: cancels && ((count, head) => cancelOnce(count, head.statusCode === 200 ? String(head.headers['x-request-id']) : undefined)),
    })
    if (came.end === 'left') counts.left++
    if (came.status === 202) counts.accepted++
    history.write({ kind: 'answer', call, ...came })
    await cancelling
    return { ...came, call }

    function cancelOnce(count: number, requestId: string | undefined): void {
      if (requestId !== undefined && count >= cancels!.afterEvents) cancelling ??= cancel(turn, requestId, cancels!, random.fork('cancel'))
    }
  }

  /**
   * Continues a stream at any server until its last event arrives. Returns the last attempt if that takes too many connections, or the run
   * is over.
   */
  async function resume(turn: Turn, broken: Attempt, random: Random, connections: Agent): Promise<Attempt> {
    const { key, user, idempotencyKey, message } = turn
    const requestId = broken.headers['x-request-id']!
    let last = broken
    let after = broken.events?.at(-1)?.id ?? null
    let came = broken
    let errors = 0
    for (let n = 0; n < maxResumes && errors < maxErrorsInARow && !over.aborted; n++) {
      const draw = random.fork(`resume ${n}`)
      const isLong = came.status! > 202 || came.status === null || draw.chance(0.2)
      await pass(isLong ? pauseOf(came, draw) : draw.int(0, 50), undefined, { signal: over }).catch(() => undefined)
      const supervised = draw.int(0, target.urls.length - 1)
      const leaves = draw.chance(0.3) ? { leaves: draw.int(1, 8) } : {}
      const call = ++counts.calls
      counts.resumes++
      const asked = { call, key: key.name, user, idempotencyKey, message, supervised, ...leaves }
      history.write({ kind: 'call', at: history.now(), transport: 'resume', ...asked, resumes: { requestId, call: last.call, after } })
      const response = await send({
        ...leaves,
        url: `${target.urls[supervised]}${pathOfTurn(turn, requestId)}/stream`,
        method: 'GET',
        headers: { authorization: `Bearer ${key.text}`, ...(after === null ? {} : { 'last-event-id': after }) },
        connections,
        patienceMs: draw.int(8_000, 20_000),
        now: history.now,
      })
      if (response.end === 'left') counts.left++
      history.write({ kind: 'answer', call, ...response })
      came = { ...response, call }
      // Everything had arrived before the connection broke.
      if (came.status === 204) return { ...last, end: 'whole' }
      if (came.events && came.events.length > 0) {
        last = came
        after = came.events.at(-1)!.id
      }
      const code = codeOf(came)
      errors = code === undefined || !came.events ? 0 : errors + 1
      if (code !== undefined && !comeBack.has(code) && !(code === 'internal_error' && !came.events)) return came
    }
    return came
  }

  async function resolve(
    turn: Turn,
    { copies = 0, ...manner }: Manner & { copies?: number },
    random: Random,
    connections: Agent,
  ): Promise<Outcome> {
    let failures = 0
    let emptyBalances = 0
    const { cancels: _, ...others } = manner
    const first = Array.from({ length: copies }, (_, n) => once(turn, others, random.fork(`copy ${n}`), undefined))
    let came = await once(turn, manner, random, connections)
    await Promise.all(first)
    for (let attempts = 0; ; attempts++) {
      const draw = random.fork(`continued ${attempts}`)
      const isAccepted = codeOf(came) === 'accepted'
      if (isAccepted && draw.chance(0.5)) await poll(turn, came.headers['x-request-id']!, draw)
      else if (isAccepted || (manner.continues && isBroken(came))) came = await resume(turn, came, draw, connections)
      const code = codeOf(came)
      if (code === 'reply') {
        if (draw.chance(feedbackShare)) await giveFeedback(turn, came.headers['x-request-id']!, draw.fork('feedback'))
        return 'replied'
      }
      if (code === 'turn_cancelled') return 'cancelled'
      if (code === 'internal_error' && ++failures >= maxFailures) return 'failed'
      const isEmpty = code === 'insufficient_balance' || code === 'spend_limit_exceeded'
      if (isEmpty && ++emptyBalances >= maxEmptyBalances) return 'refused'
      const again = code === undefined || comeBack.has(code) || code === 'internal_error' || isEmpty
      if (!again) return 'refused'
      if (over.aborted) return 'open'
      await pass(pauseOf(came, random), undefined, { signal: over }).catch(() => undefined)
      counts.retries++
      const transport = random.chance(0.8) ? manner.transport : random.pick(['chat', 'stream'] as const)
      const prefersAsync = transport === 'chat' && random.chance(0.2)
      came = await once(turn, { transport, ...(prefersAsync ? { prefersAsync } : {}) }, random, connections)
    }
  }

  return { once, resolve, counts }
}

/** A stream that has started and has no final event: the turn may go on. */
function isBroken(came: Came): boolean {
  const code = codeOf(came)
  return came.events !== null && came.status === 200 && (code === undefined || code === 'service_unavailable')
}

/** `reply` for a complete 200; undefined if a response was incomplete. */
export function codeOf({ end, status, body, events }: Came): string | undefined {
  if (end !== 'whole') return undefined
  const last = events?.at(-1)
  if (events && last?.event === 'response.completed') return 'reply'
  if (events) return last?.event === 'error' ? (JSON.parse(last.data) as { code: string }).code : 'no end'
  if (status === 200) return 'reply'
  if (status === 202) return 'accepted'
  try {
    return (JSON.parse(body ?? '') as { error: { code: string } }).error.code
  } catch {
    return 'no envelope'
  }
}

function pauseOf({ headers }: Came, random: Random): number {
  const asked = Number(headers['retry-after'] ?? 0) * 1000
  return asked > 0 ? Math.min(asked, maxPauseMs) : random.int(100, maxPauseMs)
}

function bodyOf({ user, message }: Turn, flaw: Flaw | undefined): string {
  if (flaw === 'no JSON') return '{"external_user_id":'
  const body = { external_user_id: user, message: flaw === 'empty message' ? '' : message }
  return JSON.stringify(flaw === 'unknown field' ? { ...body, __proto__x: 1 } : body)
}

export const keptAlive = (): Agent => new Agent({ keepAlive: true })
