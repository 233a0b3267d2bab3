/**
 * What the failpoint actions `drop` and `throw` do where they act: a connection is really cut, and an error in the HTTP layer or after a
 * commit has no effect elsewhere. Every failpoint with every action: race/every-failpoint.ts.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { storeKind } from '../support/store-under-test.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp } from '../support/test-app.ts'

const said = ['one ', 'two ', 'three']

async function startWith(failpoints: string): Promise<TestApp> {
  const app = await startTestApp({ env: { TURNKEEP_FAILPOINTS: failpoints } })
  app.model.when('hello', said)
  return app
}

/** The outcome of all of them: the same key gets the reply, which is stored and charged once. */
async function assertOneReply(app: TestApp, idempotencyKey: string): Promise<Answer> {
  let answer = await app.chat('hello', { idempotencyKey })
  for (let tries = 0; answer.status !== 200 && tries < 300; tries++) {
    await pass(100)
    answer = await app.chat('hello', { idempotencyKey })
  }
  assert.equal(answer.json.message?.content, said.join(''), answer.text)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
  assert.equal((await app.messages()).length, 2)
  await app.verify()
  return answer
}

void test('fault.caller-gone-mid-reply billing.once: a stream dropped before its second delta: its caller has one delta, the turn is settled', async () => {
  await using app = await startWith('stream.before-delta=drop@2')
  const idempotencyKey = randomUUID()
  const response = await app.chatRequest({ external_user_id: 'user-1', message: 'hello' }, { idempotencyKey, path: 'chat/stream' })
  let heard = ''
  await assert.rejects(async () => {
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) heard += piece
  })
  // The first may have been sent in the same write.
  assert.ok(heard.split('response.output_text.delta').length - 1 <= 1, heard)
  await assertOneReply(app, idempotencyKey)
  assert.equal(app.model.calls.length, 1)
})

for (const [point, transport] of [
  ['answer.before-send', 'chat'],
  ['stream.before-created', 'stream'],
  ['stream.before-end', 'stream'],
] as const) {
  void test(`fault.caller-gone-before-text billing.once: a caller dropped at ${point} gets no complete response, and the turn is settled`, async () => {
    await using app = await startWith(`${point}=drop@1`)
    const idempotencyKey = randomUUID()
    await assert.rejects(app[transport]('hello', { idempotencyKey }))
    await assertOneReply(app, idempotencyKey)
    assert.equal(app.model.calls.length, 1)
  })
}

void test('billing.once: a stream that fails by an internal error breaks off, and its turn is not affected', async () => {
  await using app = await startWith('stream.before-delta=throw@2')
  const idempotencyKey = randomUUID()
  await assert.rejects(app.stream('hello', { idempotencyKey }))
  await assertOneReply(app, idempotencyKey)
  assert.equal(app.model.calls.length, 1)
})

if (storeKind === 'sqlite') {
  void test('billing.once: an error after the commit of an admission loses the response but is not admitted again: 500, then one reply', async () => {
    await using app = await startWith('admit.after-commit=throw@1')
    const idempotencyKey = randomUUID()
    const unheard = await app.chat('hello', { idempotencyKey })
    assert.deepEqual([unheard.status, unheard.json.error?.code], [500, 'internal_error'], unheard.text)
    assert.equal((await app.chat('hello', { idempotencyKey })).json.error?.code, 'idempotency_in_progress')
    await app.moveClock(60_000)
    await assertOneReply(app, idempotencyKey)
    assert.equal(app.model.calls.length, 1)
  })
}

for (const [point, tries, fault, modelCalls] of [
  ['model.before-call', [1, 2, 3], 'fault.model-silent', 0],
  ['model.first-delta', [1], 'fault.model-stream-truncated', 1],
] as const) {
  void test(`${fault} stream.after-delta: a model dropped at ${point}: released after ${modelCalls} calls that reached it, and nothing charged`, async () => {
    await using app = await startWith(tries.map((n) => `${point}=drop@${n}`).join(';'))
    const idempotencyKey = randomUUID()
    const broken = await app.chat('hello', { idempotencyKey })
    assert.deepEqual([broken.status, broken.json.error?.code], [503, 'service_unavailable'], broken.text)
    assert.equal(app.model.calls.length, modelCalls)
    assert.equal((await app.owner()).held_usd, '0.00000000')
    const answer = await assertOneReply(app, idempotencyKey)
    assert.equal(answer.json.request_id, broken.json.error.request_id)
  })
}

if (storeKind === 'postgres') {
  // More than the attempts that fit within an admission's deadline.
  const eachTry = (point: string, rest = ''): string => Array.from({ length: 20 }, (_, n) => `${point}=drop@${n + 1}${rest}`).join(';')
  for (const [failpoints, what, fault, stored] of [
    [eachTry('admit.before-commit'), 'before each commit of an admission', 'fault.postgres-connection-lost', 0],
    [eachTry('commit.sent', ' if:admit_v2'), 'at each commit of an admission that was sent', 'fault.commit-reply-lost', 1],
  ] as const) {
    void test(`${fault} billing.once: the database's connection dropped ${what}: 503 and ${stored} turns are stored`, async () => {
      await using app = await startWith(failpoints)
      const idempotencyKey = randomUUID()
      const refused = await app.chat('hello', { idempotencyKey })
      assert.deepEqual([refused.status, refused.json.error?.code], [503, 'service_unavailable'], refused.text)
      assert.equal((await app.made('GET', `/turns?agent_id=${app.caller.agentId}`)).data.length, stored)
      await app.moveClock(60_000)
      await assertOneReply(app, idempotencyKey)
    })
  }
}
