/** The limits and deadlines of a turn. Tests shorten them. */
import { maxItems } from './batcher.ts'

export type TurnSettings = {
  /** `TURNKEEP_MAX_TURNS`: the number of turns that run in this process, including those being admitted. Beyond it no turn is admitted. */
  maxTurns: number
  /**
   * The deadline of a whole turn. It is below the usual 120 s timeout of callers, so that they get an error response instead of a closed
   * connection.
   */
  turnMs: number
  /** After this time, a caller whose turn waits for the store gets `service_unavailable`. */
  answerMs: number
  /** `trace.stored`: whether the traces of turns are recorded and stored. */
  traces: boolean
  leaseMs: number
  renewMs: number
  /**
   * The interval between checks for orphans. A turn of a dead process is finished within `leaseMs`, this interval and the time of its own
   * run.
   */
  sweepMs: number
}

export const turnDefaults: TurnSettings = {
  maxTurns: 1000,
  turnMs: 110_000,
  answerMs: 115_000,
  traces: true,
  leaseMs: 12_000,
  renewMs: 4_000,
  sweepMs: 1_000,
}

// One batch in progress and one that waits: a store that responds at all handles this many within milliseconds.
export const maxLookUps = 2 * maxItems

/** The waits between attempts to store a generated reply: short at first, because most outages end quickly, then one second. */
export const storeRetryMs = [50, 100, 200, 500, 1000]
