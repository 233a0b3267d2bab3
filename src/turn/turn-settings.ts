/** The numbers a turn lives by (rulings, Streams and Recovery); tests shorten them. */
import { maxItems } from './batcher.ts'

export type TurnSettings = {
  /** `TURNKEEP_MAX_TURNS`: running turns of this process, those being admitted among them; beyond it nothing new is admitted. */
  maxTurns: number
  /** The whole turn; below the callers' 120 s, so that they get an answer and not a cut. */
  turnMs: number
  /** When a caller whose turn waits for the store is answered `service_unavailable`. */
  answerMs: number
  leaseMs: number
  renewMs: number
  /** How often what other processes left is looked for; what a dead one ran is answered within `leaseMs` and this, and the run's own time. */
  sweepMs: number
}

export const turnDefaults: TurnSettings = {
  maxTurns: 1000,
  turnMs: 110_000,
  answerMs: 115_000,
  leaseMs: 12_000,
  renewMs: 4_000,
  sweepMs: 1_000,
}

// A batch on its way and one that waits: a store that answers at all answers so many within milliseconds.
export const maxLookUps = 2 * maxItems

/** Waits between tries to store what is already said: short at first, since most failures of a store pass at once, then once a second. */
export const storeRetryMs = [50, 100, 200, 500, 1000]
