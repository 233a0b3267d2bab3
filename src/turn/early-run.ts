/**
 * Runs that start when the statements of their admission have succeeded and the commit is still being flushed (`turn.durable-first`). Only
 * the outcome that the store returns after the commit opens such a run, so no caller, no header and no write can refer to the turn before.
 */
import type { AdmissionOutcome, Admitted } from '../store/turn-records.ts'
import type { LiveTurn } from './live-turn.ts'

/** A run and its end. `ended` never rejects. */
export type Run = { turn: LiveTurn; ended: Promise<void> }

export class EarlyRun {
  readonly #reported: Admitted
  readonly #run: Run
  readonly #onEnd: (early: EarlyRun, isConfirmed: boolean) => void
  #hasEnded = false

  /** `reported`: what the store has reported early. */
  constructor(reported: Admitted, run: Run, onEnd: (early: EarlyRun, isConfirmed: boolean) => void) {
    this.#reported = reported
    this.#run = run
    this.#onEnd = onEnd
  }

  /** Returns the run if `final` is what was reported, or undefined: then another transaction has decided, and this run is void. */
  confirm(final: AdmissionOutcome): Run | undefined {
    if (this.#hasEnded || final !== this.#reported) return undefined
    this.#hasEnded = true
    this.#run.turn.confirm()
    this.#onEnd(this, true)
    return this.#run
  }

  /** Aborts the run unless it was confirmed. */
  withdraw(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#run.turn.withdraw()
    this.#onEnd(this, false)
  }
}

const usualPauseMs = 5_000

/** The early runs of a process. */
export class EarlyRuns {
  readonly #pauseMs: number
  readonly #open = new Set<EarlyRun>()
  #isFailing = false
  #nextAt = 0
  #hasStopped = false

  constructor(pauseMs = usualPauseMs) {
    this.#pauseMs = pauseMs
  }

  /**
   * Returns undefined without a run after `stop`, and while admissions are not stored: a full disk or a database that does not commit would
   * otherwise cost a model call for each message, which no one pays. After a void run, one is tried per pause until one is confirmed.
   */
  start(reported: Admitted, startRun: () => Run): EarlyRun | undefined {
    if (this.#hasStopped || (this.#isFailing && performance.now() < this.#nextAt)) return undefined
    if (this.#isFailing) this.#nextAt = performance.now() + this.#pauseMs
    const early = new EarlyRun(reported, startRun(), (ended, isConfirmed) => {
      this.#open.delete(ended)
      this.#isFailing = !isConfirmed
      if (!isConfirmed) this.#nextAt = performance.now() + this.#pauseMs
    })
    this.#open.add(early)
    return early
  }

  /** Aborts those that are not confirmed. None starts from now on. */
  stop(): void {
    this.#hasStopped = true
    for (const early of this.#open) early.withdraw()
  }
}
