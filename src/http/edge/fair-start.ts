/**
 * `overload.starts`: requests of one sender that arrive together start one after the other, a millisecond's worth of them in each round of the
 * event loop, so that a request of another sender waits for one of them and not for all. A sender is an owner, a principal of the admin
 * API, or an address from which requests come that are neither. Nothing is refused, and a request that arrives alone never waits.
 */
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../console/guess-limit.ts'
import { senderOf } from './unfinished-bodies.ts'

/** Of each sender in one round of the event loop, from its first request on. At least one request starts. */
const budgetMs = 1

type Sender = {
  /** When its first request in this round started. */
  startedAt: number | undefined
  waiting: (() => void)[]
}

export class FairStart {
  readonly #now: () => number
  readonly #senders = new Map<string, Sender>()
  #isRoundKnown = false

  constructor(now = (): number => performance.now()) {
    this.#now = now
  }

  /** Undefined if the request may start immediately, which costs no round. The promise never rejects. */
  wait(sender: string): Promise<void> | undefined {
    let own = this.#senders.get(sender)
    if (!own) this.#senders.set(sender, (own = { startedAt: undefined, waiting: [] }))
    if (own.waiting.length === 0 && this.#mayStart(own)) return undefined
    const { waiting } = own
    return new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(() => this.#startSome(own))
    })
  }

  #mayStart(own: Sender): boolean {
    const now = this.#now()
    if (own.startedAt !== undefined) return now - own.startedAt < budgetMs
    own.startedAt = now
    // Called before those that wait now, because the next round is theirs.
    if (!this.#isRoundKnown) setImmediate(() => this.#endRound())
    this.#isRoundKnown = true
    return true
  }

  #endRound(): void {
    this.#isRoundKnown = false
    for (const [name, own] of this.#senders)
      if (own.waiting.length === 0) this.#senders.delete(name)
      else own.startedAt = undefined
  }

  /** As many as the budget of this round lets start. */
  #startSome(own: Sender): void {
    if (!this.#mayStart(own)) return void setImmediate(() => this.#startSome(own))
    own.waiting.shift()!()
    // After what this request does immediately, whose cost is known then.
    if (own.waiting.length > 0) queueMicrotask(() => process.nextTick(() => this.#startSome(own)))
  }
}

// The routes of both APIs share one event loop.
const starts = new FairStart()

/** Call it before the work of a request, and wait for what it returns. */
export const startInTurn = (request: FastifyRequest): Promise<void> | undefined =>
  starts.wait(senderOf(request) ?? networkOf(request.raw.socket.remoteAddress ?? ''))
