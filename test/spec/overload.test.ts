/** More messages than the process can run, over real HTTP: which are admitted, what the others receive, and what is stored afterwards. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp } from '../support/test-app.ts'

const turnsStored = async (app: TestApp): Promise<number> => Number((await app.query('select count(*) as n from turns'))[0]!['n'])

function assertRefused(answers: Answer[]): void {
  for (const { status, json, headers } of answers) {
    assert.deepEqual([status, json['error']?.code, headers.get('retry-after')], [503, 'service_unavailable', '5'])
    assert.equal(headers.get('x-ratelimit-limit'), null)
    assert.equal(headers.get('x-request-id'), json['error'].request_id)
  }
}

void test("overload.places: one owner floods with slow turns through many keys, and another owner's messages are still admitted", async () => {
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '10' } })
  const meek = await app.makeCaller()
  const greedy = app.caller
  const keys = await Promise.all(
    Array.from({ length: 5 }, async () => (await app.made('POST', `/agents/${greedy.agentId}/keys`, { permission: 'full' }))['api_key']),
  )
  const held = gate()
  app.model.when('slow', ['Hel', held, 'lo'])
  const answers: Answer[] = []
  const flood = Array.from({ length: 30 }, (_, n) =>
    app.chat(`slow ${n}`, { caller: greedy, apiKey: keys[n % 5], user: `user-${n}`, idempotencyKey: `flood-${n}` }).then((answer) => {
      answers.push(answer)
      return answer
    }),
  )
  while (answers.length < 21) await wait(5)
  assert.equal(app.app.turns.running, 9, 'one place of ten is not for her')
  assertRefused(answers)
  // One after the other, as long as the flood lasts.
  for (let n = 0; n < 5; n++) assert.equal((await app.chat(`meek ${n}`, { caller: meek })).status, 200)
  assert.equal(answers.length, 21)
  assert.equal(await turnsStored(app), 5 + 9, 'nothing is stored of what was refused')
  held.open()
  const reported = await Promise.all(flood)
  assert.equal(reported.filter(({ status }) => status === 200).length, 9)
  // Each message that was refused is new under its key, and each that was answered is replayed.
  const again = async (n: number): Promise<Answer> =>
    app.chat(`slow ${n}`, { caller: greedy, apiKey: keys[n % 5], user: `user-${n}`, idempotencyKey: `flood-${n}` })
  for (const [n, first] of reported.entries()) {
    const { status, json } = await again(n)
    assert.equal(status, 200)
    if (first.status === 200) assert.deepEqual(json, first.json)
  }
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 30)
  assert.equal(await turnsStored(app), 5 + 30)
  await app.verify()
})

void test('overload.queue: a flood at a full process is 503 with Retry-After, stores and charges nothing, and stops with the flood', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '1' } })
  const idempotencyKey = randomUUID()
  const first = await app.chat('first', { idempotencyKey, user: 'zoe' })
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hold', { user: 'ann' })
  await held.reached
  const before = await app.owner()
  // More than may wait; a stream is refused before it starts, as the others are.
  const flood = await Promise.all([
    ...Array.from({ length: 300 }, (_, n) => app.chat('more', { user: `user-${n}` })),
    ...Array.from({ length: 20 }, (_, n) => app.stream('more', { user: `streamer-${n}` })),
  ])
  assertRefused(flood)
  assert.deepEqual(await app.owner(), before)
  assert.equal(await turnsStored(app), 2)
  assert.equal(app.app.turns.rejected, 320)
  assert.deepEqual((await app.chat('first', { idempotencyKey, user: 'zoe' })).json, first.json, 'a replay needs no place')
  held.open()
  assert.equal((await running).status, 200)
  while (app.app.turns.running > 0) await wait(5)
  assert.deepEqual(app.app.turns.waiting(), { admission: 0, advance: 0, settlement: 0, failure: 0 })
  assert.equal((await app.chat('after', { user: 'user-1' })).status, 200)
  await app.verify()
})

void test('overload.queue: authentication, permission, rate limit and validation come before the refusal for lack of capacity', async () => {
  await using app = await startTestApp({ env: { TURNKEEP_MAX_TURNS: '1' } })
  const narrow = await app.made('POST', `/agents/${app.caller.agentId}/keys`, {
    permission: 'full',
    rate_limit: { limit: 1, window_seconds: 60 },
  })
  const reader = await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'read-only' })
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('hold', { user: 'ann' })
  await held.reached
  const codeOf = async (answer: Promise<Answer>): Promise<string> => (await answer).json['error'].code
  assert.equal(await codeOf(app.chat('more', { apiKey: 'nonsense' })), 'invalid_api_key')
  assert.equal(await codeOf(app.chat('more', { agentId: 'agt_other' })), 'agent_mismatch')
  assert.equal(await codeOf(app.chat('more', { apiKey: reader['api_key'] })), 'permission_denied')
  assert.equal(await codeOf(app.chat('', { user: 'bob' })), 'validation_error')
  assert.equal(await codeOf(app.chat('x'.repeat(32_001), { user: 'bob' })), 'validation_error')
  // A refusal for lack of capacity has spent its unit (`rate.spend`).
  assert.equal(await codeOf(app.chat('more', { apiKey: narrow['api_key'] })), 'service_unavailable')
  assert.equal(await codeOf(app.chat('more', { apiKey: narrow['api_key'] })), 'rate_limit_exceeded')
  held.open()
  assert.equal((await running).status, 200)
})
