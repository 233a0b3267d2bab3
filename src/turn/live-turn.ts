/** A turn while it runs in this process: its signal, its listener, its end. Outlives the connection that began it. */
import type { AdmittedTurn, JournalEntry } from '../store/turn-records.ts'
import type { RunningTurn, TurnEnd } from './outcome.ts'

/** Why a run was stopped from outside. `deadline` ends the turn as unavailable; the others leave it to whoever claims it. */
export type StopReason = 'deadline' | 'lease_lost' | 'drain'

export class LiveTurn implements RunningTurn {
  readonly admitted: AdmittedTurn
  readonly end: Promise<TurnEnd>
  readonly #startedAt = performance.now()
  readonly #stop = new AbortController()
  readonly #timers: NodeJS.Timeout[]
  /** Tool calls with side effects that may have been made and whose end is not durable, by step and part. */
  readonly #unknownCalls = new Set<string>()
  #listener: ((delta: string) => void) | undefined
  #resolveEnd!: (end: TurnEnd) => void
  #stopReason: StopReason | undefined
  #ended = false
  /** Milliseconds from admission to the first delta; null before. */
  firstDeltaMs: number | null = null
  /** An extension of the hold did not fit: the run ends without a reply. */
  balanceRanOut = false

  constructor(admitted: AdmittedTurn, deadlines: { turnMs: number; answerMs: number }) {
    this.admitted = admitted
    this.end = new Promise((resolve) => (this.#resolveEnd = resolve))
    this.noteStarted(admitted.journal)
    this.noteEnded(admitted.journal)
    this.#timers = [
      setTimeout(() => this.stop('deadline'), deadlines.turnMs),
      // A settlement that waits for its store goes on; its callers get an answer and not a cut (`unavailable.unknown`).
      setTimeout(() => this.finish({ kind: 'failed', code: 'service_unavailable' }), deadlines.answerMs),
    ]
  }

  get requestId(): string {
    return this.admitted.requestId
  }

  get conversationId(): string {
    return this.admitted.conversationId
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt
  }

  get lease(): { requestId: string; fence: number } {
    return { requestId: this.admitted.requestId, fence: this.admitted.fence }
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get ended(): boolean {
    return this.#ended
  }

  get stopReason(): StopReason | undefined {
    return this.#stopReason
  }

  /** `tools.journal`: nobody knows what such a call did, so the turn may neither be run again nor make it again. */
  get callUnknown(): boolean {
    return this.#unknownCalls.size > 0
  }

  /** Told before the entries are stored: from now on a call may be made. */
  noteStarted(entries: JournalEntry[]): void {
    for (const { kind, step, part } of entries) if (kind === 'tool_started') this.#unknownCalls.add(`${step}:${part}`)
  }

  /** Told once the entries are durable. */
  noteEnded(entries: JournalEntry[]): void {
    for (const { kind, step, part } of entries) if (kind === 'tool_finished') this.#unknownCalls.delete(`${step}:${part}`)
  }

  listen(onDelta: (delta: string) => void): () => void {
    this.#listener = onDelta
    return () => (this.#listener = undefined)
  }

  deliver(delta: string): void {
    this.firstDeltaMs ??= Math.round(performance.now() - this.#startedAt)
    this.#listener?.(delta)
  }

  /** The first reason stands, but for one: a lost lease or a drain also ends a turn that is past its deadline and waits to be stored. */
  stop(reason: StopReason): void {
    if (this.#stopReason === undefined || this.#stopReason === 'deadline') this.#stopReason = reason
    this.#stop.abort(new Error(`the turn was stopped: ${reason}`))
  }

  /** Tells the callers; the first end stands. */
  finish(end: TurnEnd): void {
    this.#ended = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#listener = undefined
    this.#resolveEnd(end)
  }
}

export type Fenced<Outcome> = (fence: number) => Promise<Outcome>

/**
 * A fenced write of a turn. A process may claim a turn that it admitted itself, where the commit took longer than the lease: then the run goes
 * on under the new fence, which is known before the write comes back as lost, since the store answers in order.
 */
export async function underOwnFence<Outcome extends { kind: string }>(turn: LiveTurn, write: Fenced<Outcome>): Promise<Outcome> {
  for (;;) {
    const { fence } = turn.admitted
    const outcome = await write(fence)
    if (outcome.kind !== 'lost' || turn.admitted.fence === fence) return outcome
  }
}
