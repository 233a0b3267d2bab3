/** Admin API: GET /status and POST /verify, which the console's operations page shows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as pass } from 'node:timers/promises'
import { test } from 'node:test'
import { invariants } from '../../src/store/queries/invariants.ts'
import { refused, startAdminApp } from '../support/admin-app.ts'
import { gate } from '../support/model-server.ts'
import { changeRows } from '../support/change-rows.ts'
import { storeKind } from '../support/store-under-test.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'

const nothingCounted = {
  completed: 0,
  errors: 0,
  failed: 0,
  released: 0,
  cancelled: 0,
  lost: 0,
  replayed: 0,
  recovered: 0,
  refused: 0,
  model_retries: 0,
}

void test('status: reports version, store, limiter, workers, state and capacity', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '7' } })
  const status = await app.made('GET', '/status')
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  assert.deepEqual(status, {
    version,
    node: process.versions.node,
    started_at: new Date(Math.round(performance.timeOrigin)).toISOString(),
    draining: false,
    store: { kind: storeKind, state: 'ok' },
    limiter: { kind: storeKind === 'postgres' ? 'redis' : 'memory', state: 'ok' },
    workers: 1,
    process: status.process,
    turns: { running: 0, most: 7, waiting: { admission: 0, advance: 0, settlement: 0, failure: 0 } },
    documents: { queued: 0, indexing: 0 },
    counted: nothingCounted,
  })
  assert.ok(status.process.rss_bytes > 10_000_000)
  assert.ok(status.process.event_loop_p99_ms >= 0)
})

void test('status: running turns are those that run now, and every end, replay, refusal and retry is counted', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'x'])
  const asked = app.chat('one', { idempotencyKey: 'k1' })
  await held.reached
  assert.equal((await app.made('GET', '/status')).turns.running, 1)
  held.open()
  await asked
  await app.chat('one', { idempotencyKey: 'k1' })
  app.model.script({ status: 503 }, 'at the second try')
  await app.chat('two')
  app.model.script([], [])
  assert.equal((await app.chat('empty')).status, 500)
  app.model.script({ status: 400 })
  assert.equal((await app.chat('refused by the model')).status, 500)
  assert.equal((await app.chat('x', { apiKey: 'wrong' })).status, 401)
  assert.equal((await app.admin('GET', '/owners/own_none')).status, 404)
  const { turns, counted } = await app.made('GET', '/status')
  assert.equal(turns.running, 0)
  assert.deepEqual(counted, {
    ...nothingCounted,
    completed: 2,
    errors: 2,
    failed: 1,
    released: 1,
    replayed: 1,
    refused: 2,
    model_retries: 1,
  })
})

const app = await startAdminApp()

void test('verify: reports every invariant while a turn runs; concurrent requests get the same result', async () => {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hi')
  await held.reached
  const began = Date.now()
  const [first, second] = await Promise.all([app.made('POST', '/verify'), app.made('POST', '/verify', {})])
  held.open()
  await running
  assert.deepEqual(first, second)
  assert.equal(first.ok, true)
  assert.ok(Date.parse(first.verified_at) >= began && Date.parse(first.verified_at) <= Date.now())
  assert.ok(Number.isInteger(first.ms) && first.ms > 0)
  assert.deepEqual(
    first.invariants,
    invariants.map(({ id, name, sentence }) => ({ id, name, sentence, ok: true, rows: [] })),
  )
  const later = await app.made('POST', '/verify')
  assert.ok(Date.parse(later.verified_at) > Date.parse(first.verified_at), 'asked again it is looked again')
  await refused(app.admin('POST', '/verify', { deep: true }), 422, 'validation_error', /deep/)
})

void test('verify: a violated invariant is returned with the rows that violate it', async () => {
  await using own = await startTestApp()
  await changeRows(own, 'update owners set balance = balance + 1')
  const { ok, invariants: reported } = await own.made('POST', '/verify')
  assert.equal(ok, false)
  const broken = reported.filter((one: Json) => !one.ok)
  assert.deepEqual(
    broken.map(({ name }: Json) => name),
    ['balance-is-ledger-sum'],
  )
  assert.deepEqual(broken[0].rows, [{ owner_id: own.caller.ownerId, balance: '1000000001', ledger_sum: '1000000000' }])
  await changeRows(own, 'update owners set balance = balance - 1')
  await own.verify()
})

void test('verify: a connection that is silent for longer than the usual idle timeout still gets its response', async () => {
  const held = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const verify = async () => {
    asked.resolve()
    await held.promise
    return { ok: true, verifiedAt: 0, ms: 1, invariants: [] }
  }
  const idleMs = 100
  const admin = {
    admin: { calledBy: () => ({}) },
    adminToken,
    limits: { rate: 1000, parallel: 100 },
    apiUrl: () => null,
    service: { verify },
  }
  await using layer = await startTestLayer({ admin: admin as never, times: { idleMs } })
  const answer = fetch(`${layer.url}/admin/v1/verify`, { method: 'POST', headers: { authorization: `Bearer ${adminToken}` } })
  await asked.promise
  await pass(idleMs * 5)
  held.resolve()
  assert.deepEqual(await (await answer).json(), { ok: true, verified_at: '1970-01-01T00:00:00.000Z', ms: 1, invariants: [] })
})
