/**
 * Usage by hour or day: how many turns ended and how, their tokens and costs, and how long they took. Read-only, from the index
 * `usage_of_turns` alone. A turn counts at its end, so its charge is in the same hour as in the ledger.
 */
import type { Amount } from '../../ledger/ledger.ts'
import type { Row, Sql } from '../sql.ts'
import { bigInteger, integer, text } from './columns.ts'
import { Values, chargedTurns, endedTurns, failedRuns } from './reported-turns.ts'
import type { Period, ReportedTurns, UsageFilter } from './reported-turns.ts'
import { read } from './operation.ts'
import { byFilter, unrestricted } from './scope.ts'

/** How many runs ended without a reply, by cause. Only causes that occurred. */
export type ErrorCounts = Map<string, number>

/** Every bucket is `bucketMs` long and starts at a multiple of it. */
export type UsageWanted = UsageFilter & Period & { bucketMs: number }

/** Percentiles (nearest rank) in milliseconds, or null if there is no value. */
export type Percentiles = { p50: number | null; p95: number | null }

export type Usage = {
  /** Turns that ended: the sum of the next four. */
  turns: number
  completed: number
  failed: number
  released: number
  /** Cancelled before they had a reply. Not an error. */
  cancelled: number
  /** Runs that ended without a reply, those that a retry has since repeated included. */
  errors: number
  errorsByCause: ErrorCounts
  promptTokens: number
  completionTokens: number
  charged: Amount
  writtenOff: Amount
  /** `billing.unpaid`: what runs without a reply used, at their price. No owner was charged for it. */
  unpaid: Amount
  /** Of completed turns: from the start of the run to its settlement. */
  latency: Percentiles
  /** From the admission, or the last claim by recovery, to the first delta, if there was one. */
  firstDelta: Percentiles
}

/** `buckets` contains every bucket of the range, including empty ones. */
export type UsageFound = { buckets: (Usage & { bucketStart: number })[]; totals: Usage }

/** One scan of the index, bucket by bucket, so that memory holds the rows of one bucket and the times of all. */
export async function usageByBucket(sql: Sql, { from, to, bucketMs, ...filter }: UsageWanted): Promise<UsageFound> {
  const buckets: UsageFound['buckets'] = []
  const totals = new Tally()
  for (let bucketStart = from - (from % bucketMs); bucketStart < to; bucketStart += bucketMs) {
    const period = { from: Math.max(from, bucketStart), to: Math.min(to, bucketStart + bucketMs) }
    const tally = new Tally()
    const select = (columns: string, turns: Turns, more = ''): Promise<Row[]> => {
      const values = new Values()
      const { tables, conditions } = turns(filter, period, values)
      return sql.all(`select ${columns} from ${tables} where ${conditions} ${more}`, ...values.list)
    }
    const figures = 't.state, t.ended_at - t.started_at as latency_ms, t.first_delta_ms, t.prompt_tokens, t.completion_tokens, t.charged'
    for (const row of await select(figures, endedTurns)) tally.count(row)
    for (const row of await select('l.written_off', chargedTurns, 'and l.written_off > 0'))
      tally.writtenOff += bigInteger(row, 'written_off')
    for (const row of await select('t.unpaid', endedTurns, 'and t.unpaid > 0')) tally.unpaid += bigInteger(row, 'unpaid')
    const errors = await select('e.cause_kind, count(*) as errors', failedRuns, 'group by e.cause_kind')
    for (const row of errors) tally.errorsByCause.set(text(row, 'cause_kind'), integer(row, 'errors'))
    totals.add(tally)
    buckets.push({ bucketStart, ...tally.read() })
  }
  return { buckets, totals: totals.read() }
}

type Turns = (filter: UsageFilter, period: Period, values: Values) => ReportedTurns

class Tally {
  completed = 0
  failed = 0
  released = 0
  cancelled = 0
  readonly errorsByCause: ErrorCounts = new Map()
  promptTokens = 0
  completionTokens = 0
  charged = 0n
  writtenOff = 0n
  unpaid = 0n
  #latencies: number[] = []
  #firstDeltas: number[] = []

  count(row: Row): void {
    if (row['state'] === 'failed') this.failed++
    if (row['state'] === 'released') this.released++
    if (row['state'] === 'cancelled') this.cancelled++
    // `billing.tool-price`: a cancelled turn may have a charge.
    if (row['charged'] !== null) this.charged += bigInteger(row, 'charged')
    if (row['state'] !== 'completed') return
    this.completed++
    this.promptTokens += integer(row, 'prompt_tokens')
    this.completionTokens += integer(row, 'completion_tokens')
    this.#latencies.push(integer(row, 'latency_ms'))
    if (row['first_delta_ms'] !== null) this.#firstDeltas.push(integer(row, 'first_delta_ms'))
  }

  add(other: Tally): void {
    this.completed += other.completed
    this.failed += other.failed
    this.released += other.released
    this.cancelled += other.cancelled
    for (const [cause, count] of other.errorsByCause) this.errorsByCause.set(cause, (this.errorsByCause.get(cause) ?? 0) + count)
    this.promptTokens += other.promptTokens
    this.completionTokens += other.completionTokens
    this.charged += other.charged
    this.writtenOff += other.writtenOff
    this.unpaid += other.unpaid
    for (const value of other.#latencies) this.#latencies.push(value)
    for (const value of other.#firstDeltas) this.#firstDeltas.push(value)
  }

  read(): Usage {
    const { completed, failed, released, cancelled, errorsByCause, promptTokens, completionTokens, charged, writtenOff, unpaid } = this
    const turns = completed + failed + released + cancelled
    const errors = errorsByCause.values().reduce((sum, count) => sum + count, 0)
    const latency = percentiles(this.#latencies)
    const firstDelta = percentiles(this.#firstDeltas)
    return {
      turns,
      completed,
      failed,
      released,
      cancelled,
      errors,
      errorsByCause,
      promptTokens,
      completionTokens,
      charged,
      writtenOff,
      unpaid,
      latency,
      firstDelta,
    }
  }
}

function percentiles(values: number[]): Percentiles {
  const ordered = Float64Array.from(values).toSorted()
  const rank = (percent: number): number | null => ordered[Math.ceil((ordered.length * percent) / 100) - 1] ?? null
  return { p50: rank(50), p95: rank(95) }
}

/** The store's clock, for a range that ends now. */
const storeTime = (sql: Sql): Promise<number> => sql.now()

export const usageReads = {
  storeTime: read(storeTime, { scope: unrestricted, readings: null }),
  usageByBucket: read(usageByBucket, {
    queue: 'report',
    // mutant: operator.scope-3
    scope: byFilter,
    readings: null,
  }),
}
