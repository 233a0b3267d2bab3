/** Turns whose process is killed during the model's stream: the time until a retry with the same key has the reply. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pass } from 'node:timers/promises'
import { filler } from '../call.ts'
import { orphanP99 } from '../goals.ts'
import type { Bench, Row, Scenario, Server, StoreKind } from '../scenario.ts'
import { eachInTurn, storeNames, storesHere } from '../side-by-side.ts'
import { percentile, spread } from '../spread.ts'

const turns = 64
// The pace of every stream here: the process is killed when the last of them has started and none has ended.
const pace = { chunks: 50, firstMs: 200, gapMs: 20 }
const lookEveryMs = 20
const askEveryMs = 100
const maxMs = 120_000

export const orphans: Scenario = {
  name: 'orphans',
  sentence: `${turns} streams whose server is killed by SIGKILL in the middle, asked for again with their keys: at another process on the same PostgreSQL, or after a new start on SQLite. Seconds from the kill to the answer, the model's ${(pace.firstMs + (pace.chunks - 1) * pace.gapMs) / 1000} s included.`,
  async run(bench) {
    const { kinds, notes } = storesHere(bench)
    const rows = await eachInTurn(kinds, async (kind): Promise<Row> => {
      const rounds = await bench.eachRound(() => killed(bench, kind))
      return {
        labels: { server: 'turnkeep', store: storeNames[kind] },
        figures: {
          'p50, s': spread(rounds.map((sorted) => percentile(sorted, 0.5))),
          [orphanP99]: spread(rounds.map((sorted) => percentile(sorted, 0.99))),
        },
      }
    })
    return { rows, notes: [...notes, 'Afterwards the store had each of these turns completed once.'] }
  },
}

/** Seconds until each turn was answered, ascending. */
async function killed(bench: Bench, kind: StoreKind): Promise<number[]> {
  const upstream = await bench.upstream()
  await upstream.configure(pace)
  const many = bench.quick ? 4 : turns
  const folder = bench.makeFolder()
  const first = await bench.startServer({ store: kind, folder })
  const successor = first.databaseUrl === undefined ? undefined : await bench.startServer({ env: { DATABASE_URL: first.databaseUrl } })
  const names = Array.from({ length: many }, () => `orphan-${randomUUID()}`)
  const asked = bench.load({
    base: first.base,
    calls: [first.call('stream')],
    callers: many,
    turns: many,
    users: names,
    keys: names,
    message,
  })
  while ((await upstream.stats()).calls < many) await pass(lookEveryMs)
  process.kill(first.pid, 'SIGKILL')
  const killedAt = performance.now()
  if ((await asked).turns > 0) throw new Error('a stream had ended before the kill')
  const server = successor ?? (await bench.startServer({ folder }))
  const seconds = await Promise.all(names.map((name) => untilAnswered(server, first, name, killedAt)))
  const { completed } = await server.usage()
  if (completed !== many) throw new Error(`${many} turns were left behind, and ${completed} were completed`)
  await upstream.configure({})
  // PostgreSQL ends with the first one.
  if (successor) await successor.stop()
  return seconds.toSorted((a, b) => a - b)
}

const message = 'message: who answers after a kill?'

async function untilAnswered(server: Server, first: Server, name: string, killedAt: number): Promise<number> {
  const { path, headers, body } = filler(first.call('sync'))({ user: name, key: name, text: message })
  for (;;) {
    const response = await fetch(server.base + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
    const text = await response.text()
    const tookMs = performance.now() - killedAt
    if (response.status === 200) return tookMs / 1000
    if (response.status !== 409 || tookMs > maxMs) throw new Error(`after ${tookMs} ms: ${response.status} ${text}`)
    await pass(askEveryMs)
  }
}
