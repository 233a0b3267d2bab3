/**
 * `node bench/hot-owner.ts [--slow-flush LIBRARY]`: admissions and settlements of one owner on a real PostgreSQL, a transaction a turn against
 * batches, in turns within one run; every turn is whole and every commit waits for the disk. Prints a Markdown table. No model, no HTTP.
 */
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { openPostgresStore } from '../src/store/postgres/postgres.ts'
import type { Admission, AdmissionOutcome, Settlement, SettlementOutcome, SharedStore } from '../src/store/store.ts'
import { Lane } from '../src/turn/lane.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { Bench } from '../test/store/conformance.ts'
import type { TestStore } from '../test/store/conformance.ts'

const callers = 64
const seconds = 5
const rounds = 3
const log = { warn: (facts: object, message: string) => console.error(message, facts), info: () => undefined }

const { values } = parseArgs({ options: { 'slow-flush': { type: 'string' } } })
const slowed = values['slow-flush']

type Turn = (bench: Bench, user: string) => Promise<void>

/** A transaction for each admission and each settlement. */
const alone: Turn = async (bench, user) => {
  const turn = await bench.admitted({ externalUserId: user, idempotencyKey: randomUUID() })
  const settled = await bench.settle(turn)
  if (settled.kind !== 'settled') throw new Error(settled.kind)
}

/** As the server does it: what waits leaves together. */
function batched(store: SharedStore): Turn {
  const admissions = new Lane<Admission, AdmissionOutcome>(
    (items) => store.admitMany(items),
    () => [],
  )
  const settlements = new Lane<Settlement, SettlementOutcome>(
    (items) => store.settleMany(items),
    () => [],
  )
  return async (bench, user) => {
    const admitted = await admissions.push(bench.admission({ externalUserId: user, idempotencyKey: randomUUID() }))
    if (admitted.kind !== 'admitted') throw new Error(admitted.kind)
    const settled = await settlements.push(bench.settlement(admitted.turn))
    if (settled.kind !== 'settled') throw new Error(settled.kind)
  }
}

async function turnsPerSecond(turn: Turn, benches: Bench[]): Promise<number> {
  const until = performance.now() + seconds * 1000
  const startedAt = performance.now()
  let turns = 0
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const bench = benches[caller % benches.length]!
      const user = `user-${randomUUID()}`
      for (; performance.now() < until; turns++) await turn(bench, user)
    }),
  )
  return (turns * 1000) / (performance.now() - startedAt)
}

async function measure(label: string, environment: Record<string, string>): Promise<void> {
  await using stack = new AsyncDisposableStack()
  // The server inherits it; nothing else is started meanwhile.
  Object.assign(process.env, environment)
  const server = await startPostgres({ durable: true })
  for (const name of Object.keys(environment)) delete process.env[name]
  stack.defer(() => server.stop('fast'))
  const deadlines = { admissionMs: 30_000, settlementMs: 30_000 }
  const open = async (): Promise<SharedStore> => {
    const store = await openPostgresStore({ url: server.url, log, deadlines })
    stack.defer(() => store.close())
    return store
  }
  const store = await open()
  const hot = await Bench.make(store as unknown as TestStore, 10n ** 15n)
  // A transaction a turn needs connections to wait on: eight stores have sixteen for admissions and sixteen for settlements.
  const others = [store, ...(await Promise.all(Array.from({ length: 7 }, open)))].map(
    (other) => new Bench(other as unknown as TestStore, hot.ownerId.slice('own_'.length), 8000),
  )
  // The same again, over a hundred owners.
  const owners = await Promise.all(Array.from({ length: 100 }, () => Bench.make(store as unknown as TestStore, 10n ** 15n)))
  const results: Record<string, number[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const [name, turn, benches] of [
      ['a transaction a turn', alone, others],
      ['batched', batched(store), [hot]],
      ['batched, 100 owners', batched(store), owners],
    ] as const) {
      ;(results[name] ??= []).push(await turnsPerSecond(turn, [...benches]))
    }
  }
  for (const [name, figures] of Object.entries(results)) {
    const [low, middle, high] = figures.toSorted((a, b) => a - b).map(Math.round)
    console.log(`| ${label} | ${name} | ${middle} | ${low}–${high} |`)
  }
  const broken = (await store.read('verify')).filter(({ rows }) => rows.length > 0)
  if (broken.length > 0) throw new Error(`broken: ${broken.map(({ name }) => name).join(', ')}`)
}

// The servers keep no event loop alive.
const alive = setInterval(() => undefined, 60_000)
console.log(`| flush | ${callers} callers, one owner | turns/s, median of ${rounds} | range |\n|---|---|---|---|`)
await measure('as the disk is', {})
if (slowed !== undefined) await measure('2 ms slower', { LD_PRELOAD: slowed, SLOW_US: '2000' })
clearInterval(alive)
