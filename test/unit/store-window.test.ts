/**
 * Rate windows in a shared store: how concurrent requests are batched, on a fake that responds on demand; then the table of all windows on
 * a real PostgreSQL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { createStoreWindow } from '../../src/access/store-window.ts'
import type { WindowSpend, WindowSpent } from '../../src/store/store.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { figuresOf, testWindow } from './rate-window-cases.ts'

type Call = { items: WindowSpend[]; answer(answers: WindowSpent[]): void; fail(error: Error): void }

function heldStore(deadlineMs = 30_000) {
  const calls: Call[] = []
  const spendWindows = (items: WindowSpend[]): Promise<WindowSpent[]> =>
    new Promise((answer, fail) => {
      calls.push({ items, answer, fail })
    })
  const window = createStoreWindow({ store: { spendWindows, ping: async () => {} }, deadlineMs })
  const spend = (apiKeyId: string, limit = 10, windowSeconds = 60) => window.spend({ apiKeyId, limit, windowSeconds })
  return { calls, window, spend }
}

const item = (apiKeyId: string, units: number, limit = 10, windowSeconds = 60): WindowSpend => ({ apiKeyId, limit, windowSeconds, units })
const ends = { endsAtMs: 1_700_000_060_001, endsInMs: 30_001 }
const figures = (remaining: number, limit = 10) => ({ limit, remaining, resetAt: 1_700_000_061 })
const allowed = (remaining: number, limit = 10) => ({ kind: 'allowed', figures: figures(remaining, limit) })
const exceeded = (limit = 10) => ({ kind: 'exceeded', figures: figures(0, limit), retryAfterSeconds: 31 })

void test('rate.spend: a single caller is sent immediately, and those of one event loop tick are sent together', async () => {
  const { calls, spend } = heldStore()
  const asked = [spend('key_a'), spend('key_b'), spend('key_a')]
  await turnOfTheLoop()
  assert.deepEqual(
    calls.map(({ items }) => items),
    [[item('key_a', 2), item('key_b', 1)]],
  )
  calls[0]!.answer([
    { accepted: 2, spent: 5, ...ends },
    { accepted: 1, spent: 1, ...ends },
  ])
  assert.deepEqual(await Promise.all(asked), [allowed(6), allowed(9), allowed(5)])
})

void test('rate.spend: what arrives during a call is sent in one call after it, with the units of a key added up', async () => {
  const { calls, spend } = heldStore()
  const first = spend('key_a')
  await turnOfTheLoop()
  const later = [spend('key_b'), spend('key_a'), spend('key_b'), spend('key_b')]
  await turnOfTheLoop()
  assert.equal(calls.length, 1)
  calls[0]!.answer([{ accepted: 1, spent: 1, ...ends }])
  assert.deepEqual(await first, allowed(9))
  await turnOfTheLoop()
  assert.deepEqual(calls[1]!.items, [item('key_b', 3), item('key_a', 1)])
  calls[1]!.answer([
    { accepted: 3, spent: 3, ...ends },
    { accepted: 1, spent: 2, ...ends },
  ])
  assert.deepEqual(await Promise.all(later), [allowed(9), allowed(8), allowed(8), allowed(7)])
  await turnOfTheLoop()
  assert.equal(calls.length, 2, 'nobody waits, so nobody is asked')
})

void test('rate.spend: of several that arrived together the first are accepted, as many as fit, and the others refused', async () => {
  const { calls, spend } = heldStore()
  const asked = [1, 2, 3, 4].map(() => spend('key_a'))
  await turnOfTheLoop()
  calls[0]!.answer([{ accepted: 2, spent: 10, ...ends }])
  assert.deepEqual(await Promise.all(asked), [allowed(1), allowed(0), exceeded(), exceeded()])
})

void test('rate.window: a changed limit or length applies immediately: those that are sent together use the newest', async () => {
  const { calls, spend } = heldStore()
  const asked = [spend('key_a', 10, 60), spend('key_a', 3, 20)]
  await turnOfTheLoop()
  assert.deepEqual(calls[0]!.items, [item('key_a', 2, 3, 20)])
  // A limit that was lowered below what is already spent.
  calls[0]!.answer([{ accepted: 0, spent: 7, ...ends }])
  assert.deepEqual(await Promise.all(asked), [exceeded(3), exceeded(3)])
})

void test('rate.fail-closed: a call that fails refuses the requests in it, and the next call is made', async () => {
  const { calls, spend } = heldStore()
  const first = [spend('key_a'), spend('key_b')]
  await turnOfTheLoop()
  const second = spend('key_a')
  calls[0]!.fail(new Error('connection lost'))
  for (const asked of first) await assert.rejects(asked, /connection lost/)
  await turnOfTheLoop()
  calls[1]!.answer([{ accepted: 1, spent: 1, ...ends }])
  assert.deepEqual(await second, allowed(9))
})

void test('rate.fail-closed: a request that was abandoned before the call was sent does not spend a unit', async () => {
  const { calls, spend } = heldStore(50)
  const held = spend('key_a')
  await turnOfTheLoop()
  const waiting = [spend('key_a'), spend('key_b')]
  for (const asked of [held, ...waiting]) await assert.rejects(asked, /no answer within 50 ms/)
  const patient = spend('key_a')
  calls[0]!.answer([{ accepted: 1, spent: 1, ...ends }])
  await turnOfTheLoop()
  assert.deepEqual(calls[1]!.items, [item('key_a', 1)])
  calls[1]!.answer([{ accepted: 1, spent: 2, ...ends }])
  assert.deepEqual(await patient, allowed(8))
})

void test('rate.fail-closed: a ping fails if the store cannot be reached', async () => {
  const store = { spendWindows: async () => [], ping: () => Promise.reject(new Error('gone')) }
  await assert.rejects(createStoreWindow({ store }).ping(), /gone/)
})

const skip = noPostgres()
// The time that a loaded machine needs; the deadlines themselves have separate tests.
const patientMs = 30_000

async function inPostgres(t: TestContext) {
  const { open, rows } = await ownPostgres(t)
  const store = await open({ deadlines: { windowMs: patientMs } })
  const window = createStoreWindow({ store, deadlineMs: patientMs })
  const now = async (): Promise<number> => Number((await rows('select now_ms() as now'))[0]!.now)
  return { window, now, pass: (ms: number) => store.moveClock(ms) }
}

testWindow('PostgreSQL', inPostgres, skip)

void test('rate.window: in PostgreSQL a clock that is set back makes no window longer and forgets no unit', { skip }, async (t) => {
  const { window, now, pass } = await inPostgres(t)
  const spend = () => window.spend({ apiKeyId: 'key_a', limit: 3, windowSeconds: 60 })
  await spend()
  await pass(-3_600_000)
  const { remaining, resetAt } = figuresOf(await spend())
  assert.equal(remaining, 1)
  assert.ok(resetAt * 1000 <= (await now()) + 61_000)
  await pass(61_000)
  assert.equal(figuresOf(await spend()).remaining, 2)
})

void test(
  'fault.rate-limit-storm rate.spend: two processes on PostgreSQL near the limit: exactly the limit is accepted',
  { skip },
  async (t) => {
    const { open } = await ownPostgres(t)
    const stores = [await open({ deadlines: { windowMs: patientMs } }), await open({ deadlines: { windowMs: patientMs } })]
    const windows = stores.map((store) => createStoreWindow({ store, deadlineMs: patientMs }))
    const keys = Array.from({ length: 5 }, (_, n) => `key_${n}`)
    const ask = async (apiKeyId: string, n: number) => ({
      apiKeyId,
      ...(await windows[n % 2]!.spend({ apiKeyId, limit: 120, windowSeconds: 600 })),
    })
    // Waves, so that the calls of the two meet; each process sends the keys in another order.
    const outcomes: Awaited<ReturnType<typeof ask>>[] = []
    for (let wave = 0; wave < 20; wave++) {
      const [one, other] = [keys, keys.toReversed()].map((named, process) =>
        named.flatMap((key) => Array.from({ length: 10 }, () => ask(key, process))),
      )
      outcomes.push(...(await Promise.all([...one!, ...other!])))
    }
    for (const key of keys) {
      const own = outcomes.filter(({ apiKeyId }) => apiKeyId === key)
      const rests = own.flatMap((outcome) => (outcome.kind === 'allowed' ? [outcome.figures.remaining] : []))
      assert.deepEqual([own.length, rests.length, new Set(rests).size], [400, 120, 120])
    }
  },
)

void test('rate.fail-closed: PostgreSQL is silent or resets: refused in time, and served when it is back', { skip }, async (t) => {
  const { url, open } = await ownPostgres(t)
  const proxy = await startFaultProxy(Number(new URL(url).port))
  t.after(() => proxy.close())
  const window = createStoreWindow({ store: await open({ url: proxy.through(url) }) })
  const spend = () => window.spend({ apiKeyId: 'key_a', limit: 100_000, windowSeconds: 600 })
  const answers = async (): Promise<boolean> =>
    spend().then(
      ({ kind }) => kind === 'allowed',
      () => false,
    )
  await until('a first answer', answers)

  proxy.blackhole()
  const burst = await Promise.allSettled(Array.from({ length: 50 }, spend))
  assert.ok(burst.every(({ status }) => status === 'rejected'))
  await assert.rejects(spend())
  await proxy.pass()
  await until('an answer after the silence', answers)

  proxy.reset()
  await until('an answer after the reset', answers)
})
