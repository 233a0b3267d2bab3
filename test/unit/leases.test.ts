/** A claim of a turn that already runs here: whether it is the same run under a new fence, or another process had it in between. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { noFailpoints } from '../../src/failpoints.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { AdmittedTurn } from '../../src/store/turn-records.ts'
import type { Store } from '../../src/store/store.ts'
import { keepLeases, orphanMs } from '../../src/turn/leases.ts'
import { LiveTurn } from '../../src/turn/live-turn.ts'
import { createStoreWarnings } from '../../src/turn/store-warnings.ts'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { plainPrice } from '../support/token-kinds.ts'

const admitted: AdmittedTurn = {
  requestId: '00000000-0000-7000-8000-000000000001',
  conversationId: 'conv_1',
  apiKeyId: 'key_1',
  agentId: 'agt_1',
  agentVersion: 1,
  fence: 1,
  run: 1,
  attempt: 1,
  message: 'Hello',
  traceparent: null,
  cancelRequested: false,
  price: plainPrice(1n, 1n),
  hold: 1n,
  history: [],
  journal: [],
  stepsBefore: 0,
}

/** One round whose claim, requested before the turn was here, returns it with this fence. */
async function claimComesBack(fence: number): Promise<{ own: LiveTurn; launched: AdmittedTurn[] }> {
  const own = new LiveTurn({ ...admitted }, { turnMs: 1_000_000, answerMs: 1_000_000 })
  const live = new Map<string, LiveTurn>()
  const launched: AdmittedTurn[] = []
  const log = pino({ level: 'silent' })
  const store = {
    async claimOrphans({ which, running }: { which: string; running: string[] }) {
      assert.deepEqual(running, [])
      if (which === 'fresh') return { turns: [], exhausted: [] }
      live.set(own.requestId, own)
      return { turns: [{ ...admitted, fence, attempt: fence }], exhausted: [] }
    },
  } as unknown as Store
  const leases = keepLeases({
    store,
    live,
    log,
    failpoints: noFailpoints,
    warnings: createStoreWarnings(log),
    metrics: createMetrics(),
    settings: turnDefaults,
    capacity: () => 1,
    begin: () => () => undefined,
    mayClaim: () => true,
    launch(turn) {
      launched.push(turn)
      const run = new LiveTurn(turn, { turnMs: 1_000_000, answerMs: 1_000_000 })
      run.finish({ kind: 'failed', code: 'service_unavailable', state: null })
      return run
    },
  })
  leases.start()
  await leases.stop()
  own.finish({ kind: 'failed', code: 'service_unavailable', state: null })
  return { own, launched }
}

void test('turn.states: a process that claims the turn it has just admitted continues it under the new fence', async () => {
  const { own, launched } = await claimComesBack(2)
  assert.deepEqual([own.admitted.fence, own.stopReason, launched.length], [2, undefined, 0])
})

void test('turn.states: if another process had the turn in between, the run here ends and the claim is another attempt, from its journal', async () => {
  const { own, launched } = await claimComesBack(3)
  assert.deepEqual([own.admitted.fence, own.stopReason], [1, 'lease_lost'])
  assert.deepEqual(
    launched.map(({ fence }) => fence),
    [3],
  )
})

void test('turn.orphans: a turn of a killed process is claimed in at most five seconds, two of them left for its run', () => {
  assert.ok(orphanMs(turnDefaults) <= 3_000)
  // The lease is longer, so that a process that is frozen for a few seconds keeps its turns.
  assert.ok(turnDefaults.leaseMs - turnDefaults.renewMs >= 8_000)
})

void test('turn.orphans: when a process has ended, a process renews its leases at once and again before it ends those that were not renewed', async (t) => {
  const sweepMs = 20
  // The clock of this test, so that no round is late.
  let now = 1_000
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const own = new LiveTurn({ ...admitted }, { turnMs: 1_000_000, answerMs: 1_000_000 })
  const calls: string[] = []
  let looks = 0
  const log = pino({ level: 'silent' })
  const store = {
    renewLeases: async () => (calls.push('renew'), []),
    read: { listCancelRequests: async () => [] },
    claimOrphans: async () => (calls.push('claim'), { turns: [], exhausted: [] }),
    processes: {
      async look() {
        calls.push('look')
        return ++looks === 2 ? { changed: true, endedAt: 5_000 } : { changed: false, endedAt: undefined }
      },
      async endLeases(before: number) {
        calls.push(`end ${before}`)
      },
    },
  } as unknown as Store
  const leases = keepLeases({
    store,
    live: new Map([[own.requestId, own]]),
    log,
    failpoints: noFailpoints,
    warnings: createStoreWarnings(log),
    metrics: createMetrics(),
    settings: { leaseMs: 12_000, renewMs: 1_000_000, sweepMs },
    capacity: () => 1,
    begin: () => () => undefined,
    mayClaim: () => true,
    launch: () => assert.fail('nothing was claimed'),
  })
  const rounds: string[] = []
  leases.start()
  for (let round = 0; round < 6; round++) {
    // The steps of a round await only the store above, so that all of them are over when this is.
    await setImmediate()
    rounds.push(calls.splice(0).join(' '))
    now += sweepMs
    t.mock.timers.tick(sweepMs)
  }
  await leases.stop()
  own.finish({ kind: 'failed', code: 'service_unavailable', state: null })
  assert.deepEqual(rounds, [
    'look claim claim',
    'look renew claim claim',
    'renew look claim claim',
    'renew look end 17000 claim claim',
    'renew look claim claim',
    'look claim claim',
  ])
})
