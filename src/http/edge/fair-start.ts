/**
 * `overload.ticks`: requests of one sender that arrive together start one after the other, a millisecond's worth of them in each turn of the
 * event loop, so that a request of another sender waits for one of them and not for all. A sender is an owner, a principal of the admin
 * API, or an address from which requests come that are neither. Nothing is refused, and a request that arrives alone never waits.
 */
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../console/guess-limit.ts'
import { senderOf } from './unfinished-bodies.ts'

/** Of each sender in one turn of the event loop, from its first request on. At least one request starts. */
const budgetMs = 1

type Sender = {
  /** When its first request in this turn started. */
  startedAt: number | undefined
  waiting: (() => void)[]
}

export class FairStart {
  readonly #now: () => number
  readonly #senders = new Map<string, Sender>()
  #isTurnKnown = false

  constructor(now = (): number => performance.now()) {
    this.#now = now
  }

  /** Undefined if the request may start immediately, which costs no turn. The promise never rejects. */
  wait(sender: string): Promise<void> | undefined {
    let own = this.#senders.get(sender)
    if (!own) this.#senders.set(sender, (own = { startedAt: undefined, waiting: [] }))
    if (own.waiting.length === 0 && this.#mayStart(own)) return undefined
    const { waiting } = own
    return new Promise((resolve) => {
      waiting.push(resolve)
      setImmediate(() => this.#startOne(own))
    })
  }

  #mayStart(own: Sender): boolean {
    const now = this.#now()
    if (own.startedAt !== undefined) return now - own.startedAt < budgetMs
    own.startedAt = now
    // Called before those that wait now, because the next turn is theirs.
    if (!this.#isTurnKnown) setImmediate(() => this.#endTurn())
    this.#isTurnKnown = true
    return true
  }

  #endTurn(): void {
    this.#isTurnKnown = false
    for (const [name, own] of this.#senders)
      if (own.waiting.length === 0) this.#senders.delete(name)
      else own.startedAt = undefined
  }

  /**
   * Called once in each turn for each that waits. What a request does first is done before the next call, which therefore knows what it has
   * cost.
   */
  #startOne(own: Sender): void {
    if (this.#mayStart(own)) own.waiting.shift()!()
    else setImmediate(() => this.#startOne(own))
  }
}

// The routes of both APIs share one event loop.
const starts = new FairStart()

/** Call it before the work of a request, and wait for what it returns. */
export const startInTurn = (request: FastifyRequest): Promise<void> | undefined =>
  starts.wait(senderOf(request) ?? networkOf(request.raw.socket.remoteAddress ?? ''))
