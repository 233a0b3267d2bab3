/** `turn.states`: what is stored and what a retry gets, for every way a turn may end. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { cut, gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer } from '../support/test-app.ts'

void test("fault.model-unavailable turn.states: released: the model's side failed; no charge, no hold, no history; the same key runs again", async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  app.model.script({ status: 500 }, [cut('fin')], [cut('end')])
  const failed = await app.chat('hi', { idempotencyKey })
  assert.deepEqual([failed.status, failed.json.error.code], [503, 'service_unavailable'])
  assert.equal(failed.headers.get('x-request-id'), failed.json.error.request_id)
  const turn = await app.made('GET', `/turns/${failed.json.error.request_id}`)
  assert.equal(turn.state, 'released')
  assert.deepEqual(await app.messages(), [])
  assert.equal((await app.owner()).available_usd, '10.00000000')
  const conflict = await app.chat('other', { idempotencyKey })
  assert.equal(conflict.json.error.code, 'idempotency_conflict')
  const retry = await app.chat('hi', { idempotencyKey })
  assert.equal(retry.status, 200)
  assert.equal(retry.json.request_id, failed.json.error.request_id)
  await app.verify()
})

void test('fault.model-reply-empty turn.states: failed: no text after one more try is final, the same failure on both transports for 24 hours', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  app.model.script([{ reasoning: 'hm' }], [''])
  const failed = await app.chat('hi', { idempotencyKey })
  assert.deepEqual([failed.status, failed.json.error.code], [500, 'internal_error'])
  assert.equal(app.model.calls.length, 2)
  const again = await app.chat('hi', { idempotencyKey })
  assert.deepEqual([again.status, again.json], [500, failed.json])
  assert.equal(again.headers.get('x-request-id'), failed.json.error.request_id)
  const stream = await app.stream('hi', { idempotencyKey })
  assert.deepEqual([stream.status, stream.json], [500, failed.json])
  assert.equal(app.model.calls.length, 2)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 0)
  assert.equal((await app.chat('other', { idempotencyKey })).json.error.code, 'idempotency_conflict')
  await app.verify()
})

void test('fault.model-reply-empty turn.states: one empty reply is tried once more, and both calls are charged', async () => {
  await using app = await startTestApp()
  const usage = { usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } }
  app.model.script([usage], ['second', usage])
  const { json } = await app.chat('hi')
  assert.equal(json.message.content, 'second')
  assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [200, 20])
  const turn = await app.made('GET', `/turns/${json.request_id}`)
  assert.equal(turn.steps.length, 1, 'the empty step is journaled')
  await app.verify()
})

void test('turn.states: released: an extension of the hold that does not fit is insufficient_balance, nothing charged, and runs after a top-up', async () => {
  await using app = await startTestApp({ agent: { max_output_tokens: 1000, history: { max_tokens: 0 }, knowledge: { max_tokens: 0 } } })
  // One call's hold is a little over 1,000 × $0.60 per million = $0.0006; two do not fit.
  const caller = await app.makeCaller({
    balanceUsd: '0.00090000',
    agent: { max_output_tokens: 1000, history: { max_tokens: 0 }, knowledge: { max_tokens: 0 } },
  })
  const idempotencyKey = randomUUID()
  const usage = { usage: { prompt_tokens: 10, completion_tokens: 900, total_tokens: 910 } }
  app.model.script([usage])
  const refused = await app.stream('hi', { idempotencyKey, caller })
  assert.deepEqual(
    refused.events.map(({ event }) => event),
    ['response.created', 'error'],
  )
  assert.equal(refused.events[1]!.data.code, 'insufficient_balance')
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([owner.balance_usd, owner.held_usd], ['0.00090000', '0.00000000'])
  await app.made('POST', `/owners/${caller.ownerId}/ledger`, { amount_usd: '1' }, { 'idempotency-key': 'top-up' })
  assert.equal((await app.chat('hi', { idempotencyKey, caller })).status, 200)
  await app.verify()
})

void test('unavailable.unknown: a full process answers 503 and still replays; TURNKEEP_MAX_TURNS', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '1' } })
  const idempotencyKey = randomUUID()
  const first = await app.chat('hi', { idempotencyKey })
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hold', { user: 'ann' })
  await held.reached
  const refused = await app.chat('more', { user: 'bob' })
  assert.deepEqual([refused.status, refused.json.error.code, refused.headers.get('retry-after')], [503, 'service_unavailable', '5'])
  assert.deepEqual((await app.chat('hi', { idempotencyKey })).json, first.json)
  held.open()
  assert.equal((await running).status, 200)
  assert.equal((await app.chat('more', { user: 'bob' })).status, 200)
})

void test('unavailable.unknown: a turn that waits for the store is answered 503 first; its hold is released when the store responds, and not later', async (t) => {
  const { turnMs, answerMs } = turnDefaults
  const { pass } = fakeTimers(t, (ms) => ms === turnMs || ms === answerMs)
  await using app = await startTestApp()
  // The store takes the step long after the caller has its answer. Until then only the store can end the turn, so the hold stays.
  const [{ store }, held] = [app.app, gate()]
  const { advanceMany } = store
  store.advanceMany = (items) => held.pass().then(() => advanceMany(items))
  app.model.script([{ toolCall: { id: 'c1', name: 'missing', arguments: '{}' } }])
  const idempotencyKey = randomUUID()
  const asked = app.chat('hi', { idempotencyKey })
  await held.reached
  pass(answerMs)
  const failed = await asked
  assert.deepEqual([failed.status, codeOf(failed)], [503, 'service_unavailable'])
  const turnNow = () => app.made('GET', `/turns/${failed.json.error.request_id}`)
  assert.equal((await turnNow()).state, 'running')
  assert.notEqual((await app.owner()).held_usd, '0.00000000')
  assert.equal(codeOf(await app.chat('hi', { idempotencyKey })), 'idempotency_in_progress')
  held.open()
  // The same key waits for the end of the turn, as the 503 says.
  for (;;) {
    const again = await app.chat('hi', { idempotencyKey })
    if (again.status === 200) break
    assert.ok(['idempotency_in_progress', 'service_unavailable'].includes(codeOf(again)), codeOf(again))
  }
  assert.equal((await turnNow()).state, 'completed')
  assert.equal((await turnNow()).run, 2)
  const owner = await app.owner()
  assert.deepEqual([owner.held_usd, owner['running_turns']], ['0.00000000', []])
  assert.equal(app.model.calls.length, 2)
  await app.verify()
})

const codeOf = ({ json }: Answer): string => json['error'].code
