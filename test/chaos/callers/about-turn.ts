/** What a caller asks about a turn that it has started: to cancel it, its status, and feedback on it. Records each request in the history. */
import { setTimeout as pass } from 'node:timers/promises'
import type { History, KeySetup } from '../history.ts'
import type { Random } from '../random.ts'
import { send } from './send.ts'
import type { Came } from './send.ts'

export type Target = {
  /** Indexed by place, fixed for the whole run. A place without a server refuses connections. */
  urls: string[]
  adminToken: string
  store: 'sqlite' | 'postgres'
  /** A place with a running server. */
  adminUrl(): string
}

/** An API key with its secret. */
export type Key = KeySetup & { text: string }

/** A message to be answered once. */
export type Turn = { key: Key; user: string; idempotencyKey: string; message: string }

/** Asks to cancel the turn this long after that many events of its stream. */
export type Cancelling = { afterEvents: number; delayMs: number; times: number }

// The pause between two requests about one turn.
const maxBetweenMs = 400
// A caller that polls sends its key again after this many requests.
const maxPolls = 60

export type TurnCalls = {
  /** Some callers ask twice, at two servers. */
  cancel(turn: Turn, requestId: string, how: Cancelling, random: Random): Promise<void>
  /** Until the turn no longer runs. Ends early at an error, or when the run is over. */
  poll(turn: Turn, requestId: string, random: Random): Promise<void>
  /** Once or several times, one after another or together. */
  giveFeedback(turn: Turn, requestId: string, random: Random): Promise<void>
}

type TurnCallsOptions = {
  target: Target
  history: History
  over: AbortSignal
  /** Numbers calls of all kinds. */
  counts: { calls: number; cancels: number; polls: number; feedback: number }
}

export const pathOfTurn = ({ key }: Turn, requestId: string): string => `/v1/agents/${key.agentId}/turns/${requestId}`

export function createTurnCalls({ target, history, over, counts }: TurnCallsOptions): TurnCalls {
  type Asked = { kind: 'cancel' | 'poll' } | { kind: 'feedback'; rating: 'up' | 'down'; tags: string[] }

  async function ask(turn: Turn, requestId: string, asked: Asked, random: Random): Promise<Came> {
    const { key, user, idempotencyKey, message } = turn
    const supervised = random.int(0, target.urls.length - 1)
    const call = ++counts.calls
    const about = { at: history.now(), call, key: key.name, user, idempotencyKey, message, supervised, requestId }
    const comment = `comment ${call}`
    if (asked.kind === 'feedback') history.write({ ...about, ...asked, comment })
    else history.write({ ...about, kind: asked.kind })
    const came = await send({
      url: `${target.urls[supervised]}${pathOfTurn(turn, requestId)}${asked.kind === 'poll' ? '' : `/${asked.kind}`}`,
      method: asked.kind === 'poll' ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key.text}`, ...(asked.kind === 'feedback' ? { 'content-type': 'application/json' } : {}) },
      ...(asked.kind === 'feedback' ? { body: JSON.stringify({ rating: asked.rating, comment, tags: asked.tags }) } : {}),
      connections: undefined,
      patienceMs: random.int(8_000, 20_000),
      now: history.now,
    })
    history.write({ kind: 'answer', call, ...came })
    return came
  }

  return {
    async cancel(turn, requestId, { delayMs, times }, random) {
      const made = Array.from({ length: times }, async (_, n) => {
        const draw = random.fork(`${n}`)
        await pass(delayMs + (n === 0 ? 0 : draw.int(0, maxBetweenMs)))
        counts.cancels++
        await ask(turn, requestId, { kind: 'cancel' }, draw)
      })
      await Promise.all(made)
    },

    async poll(turn, requestId, random) {
      for (let n = 0; n < maxPolls && !over.aborted; n++) {
        const draw = random.fork(`${n}`)
        await pass(draw.int(0, maxBetweenMs), undefined, { signal: over }).catch(() => undefined)
        counts.polls++
        const { end, status, body } = await ask(turn, requestId, { kind: 'poll' }, draw)
        if (end !== 'whole' || status !== 200 || (JSON.parse(body ?? '') as { status: string }).status !== 'running') return
      }
    },

    async giveFeedback(turn, requestId, random) {
      const isTogether = random.chance(0.3)
      const given = Array.from({ length: random.int(1, 3) }, (_, n) => {
        const draw = random.fork(`${n}`)
        const asked = {
          kind: 'feedback' as const,
          rating: draw.pick(['up', 'down'] as const),
          tags: draw.pick([[], ['fast'], ['fast', 'kind']]),
        }
        counts.feedback++
        return () => ask(turn, requestId, asked, draw)
      })
      if (isTogether) await Promise.all(given.map((give) => give()))
      else for (const give of given) await give()
    },
  }
}
