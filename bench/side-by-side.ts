/**
 * Several loads over several rounds, one after the other within each round, so that disturbances of the machine affect all of them; a row
 * of spreads for each. Nearly every scenario uses it.
 */
import type { Bench, LoadSpec, Measured, Row, Server, StoreKind, Target } from './scenario.ts'
import { headings, spread } from './spread.ts'

export type Lane = { labels: Row['labels']; target: Target; spec: Omit<LoadSpec, 'base'> }

export async function sideBySide(bench: Bench, lanes: Lane[]): Promise<Row[]> {
  const rounds = await bench.eachRound(() => eachInTurn(lanes, ({ target, spec }) => bench.measure(target, spec)))
  return lanes.map(({ labels }, place) => ({ labels, figures: figuresOf(rounds.map((round) => round[place]!)) }))
}

/** One after the other, so that each has the machine for itself. */
export async function eachInTurn<Item, Result>(items: readonly Item[], act: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await act(item))
  return results
}

/** The columns of a measurement over its rounds; times of first deltas only if they came before the end. */
export function figuresOf(measured: Measured[]): Row['figures'] {
  const over = (of: (one: Measured) => number) => spread(measured.map(of))
  const streamed = measured.every(({ firstDelta, total }) => firstDelta.p50 < total.p50)
  const databases = measured.flatMap(({ databaseCpuMsPerTurn }) => databaseCpuMsPerTurn ?? [])
  return {
    [headings.rate]: over(({ perSecond }) => perSecond),
    [headings.cpu]: over(({ cpuMsPerTurn }) => cpuMsPerTurn),
    ...(databases.length > 0 && { [headings.databaseCpu]: spread(databases) }),
    [headings.p50]: over(({ total }) => total.p50),
    [headings.p99]: over(({ total }) => total.p99),
    ...(streamed && { [headings.firstDelta50]: over(({ firstDelta }) => firstDelta.p50) }),
    ...(streamed && { [headings.firstDelta99]: over(({ firstDelta }) => firstDelta.p99) }),
    [headings.upstreamCpu]: over(({ upstreamCpuMsPerTurn }) => upstreamCpuMsPerTurn),
    [headings.clientCpu]: over(({ clientCpuMsPerTurn }) => clientCpuMsPerTurn),
  }
}

/** The name of a store in tables. */
export const storeNames: Record<StoreKind, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** Both stores, or the available one with a note on the other. */
export function storesHere(bench: Bench): { kinds: StoreKind[]; notes: string[] } {
  const missing = bench.noPostgres()
  return missing === false
    ? { kinds: ['sqlite', 'postgres'], notes: [] }
    : { kinds: ['sqlite'], notes: [`PostgreSQL is not measured: ${missing}.`] }
}

/** Its code is compiled and its pools are filled. */
export async function warm(bench: Bench, server: Server): Promise<void> {
  for (const mode of ['sync', 'stream'] as const)
    await bench.measure(server, { calls: [server.call(mode)], callers: 16, turns: bench.quick ? 16 : warmTurns })
}

// Enough turns to compile the code that every turn runs.
export const warmTurns = 400
