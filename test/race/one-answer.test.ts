/** Rows 5 to 9 and 49 of the fault matrix: many at once, and exactly one answer. The real server over real sockets. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer } from '../support/test-app.ts'

const hundred = Array.from({ length: 100 }, (_, index) => index)
const byStatus = (answers: Answer[], status: number): Answer[] => answers.filter((answer) => answer.status === status)

void test('row 5 one_turn_per_key a hundred requests with one key: one model call, one charge, all 200 equal, the rest in progress', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const answers = await Promise.all(hundred.map(() => app.chat('hello', { idempotencyKey })))
  const replies = byStatus(answers, 200)
  assert.ok(replies.length >= 1)
  for (const { text } of replies) assert.equal(text, replies[0]!.text)
  const others = byStatus(answers, 409)
  assert.equal(replies.length + others.length, 100)
  for (const { json, headers } of others) {
    assert.equal(json.error.code, 'idempotency_in_progress')
    assert.equal(headers.get('retry-after'), '2')
  }
  assert.equal(app.model.calls.length, 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
  assert.equal((await app.messages()).length, 2)
  assert.equal((await app.chat('hello', { idempotencyKey })).text, replies[0]!.text)
  await app.verify()
})

void test('row 6 idempotency.conflict a hundred requests with one key and two bodies: one body wins, the other always conflicts', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const answers = await Promise.all(hundred.map((index) => app.chat(`body ${index % 2}`, { idempotencyKey })))
  const replies = byStatus(answers, 200)
  assert.ok(replies.length >= 1)
  assert.equal(app.model.calls.length, 1)
  const winner = Number(app.model.calls[0]!.lastUserMessage.at(-1))
  for (const [index, { status, json }] of answers.entries()) {
    if (index % 2 === winner) assert.ok(status === 200 || json.error.code === 'idempotency_in_progress')
    else assert.deepEqual([status, json.error.code], [409, 'idempotency_conflict'])
  }
  await app.verify()
})

void test('row 8 idempotency.fingerprint the same key on both transports at once is one turn, replayed on either', async () => {
  await using app = await startTestApp()
  const idempotencyKey = randomUUID()
  const held = gate()
  app.model.script([held, 'one'])
  const sync = app.chat('hello', { idempotencyKey })
  await held.reached
  const stream = await app.stream('hello', { idempotencyKey })
  assert.deepEqual([stream.status, stream.json.error.code], [409, 'idempotency_in_progress'])
  held.open()
  const { json } = await sync
  const replay = await app.stream('hello', { idempotencyKey })
  assert.deepEqual(
    replay.events.map(({ event }) => event),
    ['response.created', 'response.completed'],
  )
  assert.deepEqual(replay.events[1]!.data, json)
  assert.equal(app.model.calls.length, 1)
})

void test('row 9 conversation.busy fifty messages of one user at once: one runs, nothing is stored for the others, their keys are fresh', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.script([held, 'one'])
  const sent = hundred.slice(0, 50).map((index) => ({ idempotencyKey: randomUUID(), message: `message ${index}` }))
  const answers = sent.map(({ message, ...options }) => app.chat(message, options))
  await held.reached
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(({ status }) => status === 409 && ++seen === 49 && refused.resolve())
  await refused.promise
  held.open()
  const all = await Promise.all(answers)
  assert.equal(byStatus(all, 200).length, 1)
  for (const { json, headers } of byStatus(all, 409)) {
    assert.equal(json.error.code, 'conversation_busy')
    assert.equal(headers.get('retry-after'), '2')
  }
  assert.equal(byStatus(all, 409).length, 49)
  assert.equal((await app.messages()).length, 2)
  const loser = all.findIndex(({ status }) => status === 409)
  assert.equal((await app.chat(sent[loser]!.message, { idempotencyKey: sent[loser]!.idempotencyKey })).status, 200)
  await app.verify()
})

void test('row 49 balance_never_negative a hundred users on a balance that covers seven: seven run, 93 are refused with no row', async () => {
  await using app = await startTestApp()
  const hold = await holdOf(app)
  const caller = await app.makeCaller({ balanceUsd: (hold * 7 + 0.00000001).toFixed(8) })
  const held = gate()
  app.model.when('spend', [held, 'x'])
  const answers = hundred.map((index) => app.stream('spend', { user: `user-${index}`, caller }))
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) void answer.then(({ status }) => status === 402 && ++seen === 93 && refused.resolve())
  await refused.promise
  held.open()
  const all = await Promise.all(answers)
  const ran = all.filter(({ status }) => status === 200)
  assert.equal(ran.length, 7)
  for (const { events } of ran) assert.equal(events.at(-1)!.event, 'response.completed')
  for (const { json } of byStatus(all, 402)) assert.equal(json.error.code, 'insufficient_balance')
  assert.equal(byStatus(all, 402).length, 93)
  assert.equal((await app.made('GET', `/turns?agent_id=${caller.agentId}&limit=100`)).data.length, 7)
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.equal(owner.held_usd, '0.00000000')
  await app.verify()
})

void test('row 49 billing.hold a thousand holds of 10⁻⁸ USD on a balance of one hundred of them: exactly one hundred are admitted', async () => {
  await using app = await startTestApp()
  const caller = await app.makeCaller({
    balanceUsd: '0.00000100',
    agent: { price: { prompt_usd_per_million: '0.00000001', completion_usd_per_million: '0.00000001' } },
  })
  const held = gate()
  app.model.when('spend', [held, 'x'])
  const thousand = Array.from({ length: 1000 }, (_, index) => app.chat('spend', { user: `user-${index}`, caller }))
  await app.model.waitForCalls(100)
  const refused = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of thousand) void answer.then(({ status }) => status === 402 && ++seen === 900 && refused.resolve())
  await refused.promise
  const running = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([running.held_usd, running.available_usd], ['0.00000100', '0.00000000'])
  held.open()
  const all = await Promise.all(thousand)
  assert.equal(byStatus(all, 200).length, 100)
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([owner.balance_usd, owner.held_usd], ['0.00000000', '0.00000000'])
  await app.verify()
})

/** What one turn of the test agent with the message "spend" holds, in USD. */
async function holdOf(app: Awaited<ReturnType<typeof startTestApp>>): Promise<number> {
  const held = gate()
  app.model.script([held, 'x'])
  const running = app.chat('spend', { user: 'probe' })
  await held.reached
  const { held_usd: hold } = await app.owner()
  held.open()
  await running
  return Number(hold)
}
