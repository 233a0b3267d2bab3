/**
 * A retry with the same key: answered from the store, without the model and without a charge, beside the turns that created the replies.
 */
import { randomUUID } from 'node:crypto'
import type { Scenario } from '../scenario.ts'
import { sideBySide, warm } from '../side-by-side.ts'

const callers = 64
const turnsKept = 1_024

export const replays: Scenario = {
  name: 'replays',
  sentence: `Turns beside replays of ${turnsKept.toLocaleString('en-US')} turns that have ended; ${callers} callers, SQLite.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const server = await bench.startServer()
    await warm(bench, server)
    const name = randomUUID()
    const many = bench.quick ? callers : turnsKept
    const [users, keys] = ['user', 'key'].map((kind) => Array.from({ length: many }, (_, number) => `${kind}-${name}-${number}`))
    // One process, so that the turns and their replays use the same names.
    const kept = { users: users!, keys: keys!, callers, processes: 1 }
    await bench.measure(server, { ...kept, calls: [server.call('sync')], turns: many })
    const fresh = (mode: 'sync' | 'stream') => ({ calls: [server.call(mode)], callers, seconds: bench.seconds })
    const rows = await sideBySide(
      bench,
      (['sync', 'stream'] as const).flatMap((mode) => [
        { labels: { answer: 'a turn', mode }, target: server, spec: fresh(mode) },
        { labels: { answer: 'a replay', mode }, target: server, spec: { ...fresh(mode), ...kept, replays: true } },
      ]),
    )
    await bench.audit(server)
    return { rows, notes: ['A replayed stream has no deltas. The store holds every turn once, however often it was replayed.'] }
  },
}
