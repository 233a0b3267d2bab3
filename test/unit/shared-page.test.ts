/** The metrics page of several workers: what is summed, and what remains when one does not respond or has ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Figures, Metrics } from '../../src/observability/metrics.ts'
import { createSharedPage } from '../../src/process/shared-page.ts'
import type { Askable, SharedPage } from '../../src/process/shared-page.ts'
import { parseExposition } from '../support/exposition.ts'

type Worker = Askable & { metrics: Metrics; silent: boolean }

function workerOf(page: SharedPage, number: number, running = 0, store: 'ok' | 'unavailable' = 'ok'): Worker {
  const metrics = createMetrics()
  metrics.watch({
    running: () => running,
    maxRunning: 10,
    waiting: () => ({ admission: number, advance: 0, settlement: 0, failure: 0 }),
    ready: async () => ({ store, limiter: 'ok' }),
    webhookBacklog: async () => ({ pending: 3, oldestDueMs: 1_500 }),
    documentBacklog: async () => ({ queued: 4, indexing: 1 }),
  })
  return {
    metrics,
    silent: false,
    number,
    ask(id) {
      // A copy, as it is sent between two processes.
      if (!this.silent) void metrics.figures().then((figures) => page.heard(number, structuredClone(figures), id))
    },
  }
}

const askable = (workers: Worker[]): Askable[] => workers.map((worker) => ({ number: worker.number, ask: (id) => worker.ask(id) }))
const read = async (page: SharedPage, workers: Worker[]): Promise<Map<string, number>> =>
  parseExposition(await page.write(askable(workers))).values

void test('metrics: those of several workers are sums, except for what only the worst worker shows', async () => {
  const page = createSharedPage()
  const workers = [workerOf(page, 1, 3), workerOf(page, 2, 4, 'unavailable')]
  workers[0]!.metrics.turnEnded(
    { outcome: 'completed', promptTokens: 5, completionTokens: 7, charged: 150_000_000n, finishReason: 'stop' },
    { ageMs: 700, firstDeltaMs: 80 },
  )
  workers[1]!.metrics.turnEnded(
    { outcome: 'completed', promptTokens: 1, completionTokens: 2, charged: 1n, finishReason: 'length' },
    { ageMs: 9000, firstDeltaMs: null },
  )
  const values = await read(page, workers)
  const expected = {
    'turnkeep_turns_total{outcome="completed",code="none"}': 2,
    'turnkeep_tokens_total{kind="prompt"}': 6,
    turnkeep_charged_usd_total: 1.500_000_01,
    'turnkeep_turn_duration_seconds_bucket{le="1"}': 1,
    'turnkeep_turn_duration_seconds_bucket{le="+Inf"}': 2,
    turnkeep_turn_duration_seconds_sum: 9.7,
    turnkeep_first_delta_seconds_count: 1,
    turnkeep_turns_running: 7,
    turnkeep_turns_running_limit: 20,
    'turnkeep_queue_length{kind="admission"}': 3,
    'turnkeep_dependency_up{dependency="store"}': 0,
    'turnkeep_dependency_up{dependency="limiter"}': 1,
    turnkeep_workers: 2,
    turnkeep_worker_restarts_total: 0,
  }
  for (const [series, value] of Object.entries(expected)) assert.equal(values.get(series), value, series)
  assert.deepEqual(
    [...values].filter(([series]) => series.startsWith('turnkeep_build_info')).map(([, value]) => value),
    [1],
  )
  // Not twice the time since 1970.
  assert.ok(values.get('process_start_time_seconds')! <= Date.now() / 1000 + 1)
})

void test('metrics: those of a worker that does not respond are left out after a while, but not what it had counted', async () => {
  const page = createSharedPage()
  const workers = [workerOf(page, 1, 3), workerOf(page, 2, 4)]
  for (const { metrics } of workers) metrics.replayed()
  assert.equal((await read(page, workers)).get('turnkeep_replays_total'), 2)
  workers[1]!.silent = true
  for (const { metrics } of workers) metrics.replayed()
  const values = await read(page, workers)
  assert.deepEqual(
    ['turnkeep_replays_total', 'turnkeep_turns_running', 'turnkeep_workers'].map((series) => values.get(series)),
    [3, 3, 1],
  )
})

void test('metrics: the counts of ended workers stay in the sums, however many they were', async () => {
  const page = createSharedPage()
  const living = workerOf(page, 1)
  living.metrics.replayed()
  for (let processRun = 1; processRun <= 30; processRun++) {
    const dying = workerOf(page, 2, 5)
    dying.metrics.replayed()
    assert.equal((await read(page, [living, dying])).get('turnkeep_replays_total'), 1 + processRun)
    page.ended(2)
    page.restarted()
    const values = await read(page, [living])
    assert.deepEqual(
      ['turnkeep_replays_total', 'turnkeep_turns_running', 'turnkeep_workers', 'turnkeep_worker_restarts_total'].map((series) =>
        values.get(series),
      ),
      [1 + processRun, 0, 1, processRun],
    )
  }
})

void test('metrics: ended workers whose counters could not be merged once are merged with the next page', async () => {
  const page = createSharedPage()
  let [reads, failAt] = [0, Infinity]
  const counter = {
    name: 'some_total',
    help: 'Some.',
    type: 'counter',
    aggregator: 'sum',
    get values() {
      if (++reads === failAt) throw new Error('out of memory')
      return []
    },
  }
  const end = (number: number, figures: unknown[]): void => {
    page.heard(number, figures as Figures, null)
    page.ended(number)
  }
  end(0, [counter])
  await page.write([])
  assert.ok(reads > 0)
  // The page itself is written, and then the merge fails.
  failAt = 2 * reads + 1
  for (let number = 1; number <= 8; number++) end(number, [])
  await assert.rejects(page.write([]), /out of memory/)
  await page.write([])
  const merged = reads
  await page.write([])
  assert.equal(reads, merged, 'the counters of the first worker are still kept apart')
})
