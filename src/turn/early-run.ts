/**
 * A run that starts when the statements of its admission have succeeded and the commit is still being flushed (`turn.durable-first`). Only
 * the outcome that the store returns after the commit opens it, so no caller, no header and no write can refer to the turn before.
 */
import type { AdmissionOutcome, Admitted } from '../store/turn-records.ts'
import type { LiveTurn } from './live-turn.ts'

/** A run and its end. `ended` never rejects. */
export type Run = { turn: LiveTurn; ended: Promise<void> }

export class EarlyRun {
  readonly #reported: Admitted
  readonly #run: Run
  #isConfirmed = false

  /** `reported`: what the store has reported early. */
  constructor(reported: Admitted, run: Run) {
    this.#reported = reported
    this.#run = run
  }

  /** Returns the run if `final` is what was reported, or undefined: then another transaction has decided, and this run is void. */
  confirm(final: AdmissionOutcome): Run | undefined {
    if (final !== this.#reported) return undefined
    this.#isConfirmed = true
    this.#run.turn.confirm()
    return this.#run
  }

  /** Aborts the run unless it was confirmed. */
  withdraw(): void {
    if (!this.#isConfirmed) this.#run.turn.withdraw()
  }
}
