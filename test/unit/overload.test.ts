/** A flood of messages at the turn module: the real module on a real store that is held up, so that waiting messages can be counted. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Agents } from '../../src/agent/agent.ts'
import { createFailpoints } from '../../src/failpoints.ts'
import { createIds } from '../../src/ids.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import type { BeginResult } from '../../src/turn/outcome.ts'
import { watchOverload } from '../../src/turn/overload-watch.ts'
import { createTurns } from '../../src/turn/turn.ts'
import { Bench } from '../store/conformance.ts'
import { openOwnStore } from '../support/own-store.ts'
import { plainTokens } from '../support/token-kinds.ts'

const usage = plainTokens(20, 5)

/** `asked`: ids of what the store was asked to admit; `held.resolve` lets the store respond, `speak.resolve` the model. */
async function openModule(t: TestContext, maxTurns: number) {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 10n ** 12n)
  const held = Promise.withResolvers<void>()
  const generate = Promise.withResolvers<void>()
  const asked: string[] = []
  const slow: Store = {
    ...store,
    async admitMany(items) {
      asked.push(...items.map(({ idempotencyKey }) => idempotencyKey))
      await held.promise
      return store.admitMany(items)
    },
  }
  const agents: Agents = {
    async generate() {
      await generate.promise
      return { kind: 'reply', finishReason: 'stop', text: 'good day', usage, usageEstimated: false, toolCallsPrice: 0, citations: [] }
    },
  }
  const log = pino({ level: 'silent' })
  const settings = { maxTurns }
  const rooms = { store: slow, agents, failpoints: createFailpoints(''), log, metrics: createMetrics(), settings }
  const turns = createTurns({ ...rooms, ...createIds() })
  const { apiKeyId, agentId } = bench
  const begin = (key: string, shareOf = 'ann'): Promise<BeginResult> =>
    turns.begin({ apiKeyId, agentId, idempotencyKey: key, externalUserId: `user ${key}`, message: 'hello', traceparent: null, shareOf })
  return { store, bench, held, generate, asked, turns, begin }
}

const codeOf = (started: BeginResult): string => (started.kind === 'refused' ? started.code : started.kind)

void test('overload.queue: the queue is bounded: the rest of a flood is refused immediately, without a call to the store', async (t) => {
  const { store, bench, held, generate, asked, turns, begin } = await openModule(t, 40)
  const started: BeginResult[] = []
  const flood = Array.from({ length: 5000 }, (_, index) => begin(`flood ${index}`).then((one) => started.push(one)))
  await new Promise((resolve) => setImmediate(resolve))
  // One batch of 64 has been sent. Of 40 slots, 36 are for one owner, and so are 115 of 128 look-ups.
  assert.equal(asked.length, 64)
  assert.equal(turns.waiting().admission, 36 + 115 - 64)
  assert.equal(started.length, 5000 - 36 - 115, 'the others have their answer while the store has given none')
  held.resolve()
  await Promise.all(flood)
  const codes = Object.groupBy(started.map(codeOf), (code) => code)
  assert.deepEqual([codes['running']?.length, codes['service_unavailable']?.length], [36, 4964])
  assert.equal(asked.length, 36 + 115)
  assert.equal(turns.rejected, 4964)
  const count = async (): Promise<number> =>
    (await store.read.listTurns({ state: undefined, agentId: undefined }, { limit: 100, before: { createdAt: 2 ** 52, id: '' } })).length
  assert.equal(await count(), 36, 'nothing is stored of what was refused')

  // A moment later everything is as before the flood, and a refused key can be used again.
  generate.resolve()
  await Promise.all(started.map((one) => one.kind === 'running' && one.turn.end))
  while (turns.running > 0) await wait(1)
  const again = await begin('flood 4999')
  assert.ok(again.kind === 'running' && (await again.turn.end).kind === 'completed')
  assert.equal((await begin('flood 0')).kind, 'replay')
  while (turns.running > 0) await wait(1)
  assert.deepEqual(turns.waiting(), { admission: 0, advance: 0, settlement: 0, failure: 0 })
  assert.equal(await count(), 37)
  await bench.verify()
})

void test('overload.queue: a full process still replays stored results, also during a drain', async (t) => {
  const { held, generate, turns, begin } = await openModule(t, 1)
  held.resolve()
  generate.resolve()
  const first = await begin('first')
  assert.ok(first.kind === 'running' && (await first.turn.end).kind === 'completed')
  while (turns.running > 0) await wait(1)
  const drained = turns.drain(1000)
  assert.equal((await begin('first')).kind, 'replay')
  assert.equal(codeOf(await begin('second')), 'service_unavailable')
  await drained
  assert.equal(turns.rejected, 0, 'a drain is no overload')
})

void test('overload.places: a slot is released by every end of an admission and of a turn', async (t) => {
  const { bench, held, generate, turns, begin } = await openModule(t, 1)
  held.resolve()
  const running = await begin('first')
  assert.equal(codeOf(await begin('first')), 'idempotency_in_progress')
  assert.equal(codeOf(await begin('second')), 'service_unavailable')
  generate.resolve()
  assert.ok(running.kind === 'running')
  await running.turn.end
  while (turns.running > 0) await wait(1)
  for (const _ of [1, 2, 3]) assert.equal((await begin('first')).kind, 'replay')
  // Refused by the store after it got a slot: it does not keep the slot.
  const other = {
    apiKeyId: bench.apiKeyId,
    agentId: 'agt_of_nobody',
    externalUserId: 'ann',
    message: 'hello',
    traceparent: null,
    shareOf: 'ann',
  }
  for (const _ of [1, 2, 3]) assert.equal(codeOf(await turns.begin({ ...other, idempotencyKey: randomUUID() })), 'agent_not_found')
  const last = await begin('second')
  assert.ok(last.kind === 'running' && (await last.turn.end).kind === 'completed')
})

void test('overload: is logged with figures: rejected messages, once, and a delayed event loop', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) })
  const turns = { running: 7, rejected: 0, waiting: () => ({ admission: 3, advance: 0, settlement: 0, failure: 0 }) }
  const watch = watchOverload({ log, turns, lookEveryMs: 1000 })
  watch.start()
  try {
    turns.rejected = 5
    while (lines.length === 0) await wait(20)
    assert.deepEqual([lines[0]!['rejected'], lines[0]!['running']], [5, 7])
    assert.match(String(lines[0]!['msg']), /rejected messages/)
    // Nearly a whole second of a blocked event loop, a few times in a row.
    // A process that was stopped is late, too, and was not busy.
    const late = () => lines.find(({ msg, loop_busy_percent: busy }) => /the event loop is delayed/.test(String(msg)) && Number(busy) > 50)
    while (!late()) {
      const until = performance.now() + 600
      while (performance.now() < until);
      await wait(1)
    }
    const reported = late()!
    assert.ok(Number(reported['loop_delay_p90_ms']) > 250, JSON.stringify(reported))
    assert.equal(reported['rejected'], 0, 'told once')
  } finally {
    watch.stop()
  }
})
