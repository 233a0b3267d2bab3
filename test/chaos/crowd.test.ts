/** What the harness knows about the load of the machine, and which violations that excuses. */
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { check } from './check.ts'
import { watchCrowd } from './crowd.ts'
import { soundHistory } from './sound-history.ts'
import type { HistoryEvent } from './history.ts'

const cores = availableParallelism()

void test('a machine with far more runnable threads than cores is reported, one with a few more is not', async (t) => {
  const written: HistoryEvent[] = []
  let now = 0
  const reported: number[] = []
  const history = { write: (event: HistoryEvent) => void written.push(event), now: () => now }
  const logWatch = { crowded: (until: number) => void reported.push(until) }
  t.mock.timers.enable({ apis: ['setInterval'] })
  let threads = 3 * cores
  const stop = watchCrowd({ history, logWatch }, () => threads)
  const pass = (): void => {
    for (let look = 0; look < 10; look++) {
      now += 100
      t.mock.timers.tick(100)
    }
  }
  pass()
  assert.deepEqual([written, reported], [[], []])
  threads = 5 * cores
  pass()
  assert.deepEqual(written, [{ kind: 'machine', at: 2000, from: 1000, runnable: threads }])
  assert.deepEqual(reported, [2000])
  stop()
  pass()
  assert.equal(written.length, 1)
})

void test('what is late on a crowded machine is not held against the servers, and on another one it is', () => {
  const late = (history: HistoryEvent[]): HistoryEvent[] => {
    const answered = history.findIndex((event) => event.kind === 'answer' && event.status === 200)
    const { call, at, headAt } = history[answered] as Extract<HistoryEvent, { kind: 'answer' }>
    const refused = history.find((event) => event.kind === 'answer' && event.status === 503) as Extract<HistoryEvent, { kind: 'answer' }>
    const body = JSON.stringify({ error: { code: 'service_unavailable', message: 'Later.', request_id: refused.headers['x-request-id'] } })
    const first = history.find((event) => event.kind === 'call' && event.call === call) as Extract<HistoryEvent, { kind: 'call' }>
    // Another attempt before the one with the response.
    const before = { ...first, call: 9001 }
    const refusal = { ...refused, call: 9001, at, headAt, body }
    return [...history.slice(0, history.indexOf(first)), before, refusal, ...history.slice(history.indexOf(first))]
  }
  const without = check(late(soundHistory())).map((violation) => violation.check)
  assert.deepEqual([...new Set(without)], ['calm'])
  const crowded: HistoryEvent = { kind: 'machine', at: 1000, from: 0, runnable: 5 * cores }
  const sound = late(soundHistory())
  assert.deepEqual(check([sound[0]!, crowded, ...sound.slice(1)]), [])
})
