/**
 * Turns that end without a reply after a tool was called: a released turn continues from its journal; one with an unknown call has failed.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { fakeTimers } from '../support/fake-timers.ts'
import { gate } from '../support/model-server.ts'
import type { ModelServer } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'

type Started = { app: TestApp; tools: ToolServer; model: ModelServer }

async function start(t: TestContext, options: TestAppOptions = {}): Promise<Started> {
  const tools = await startToolServer()
  const app = await startTestApp({
    ...options,
    env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address },
    agent: { tools: threeTools(tools), ...options.agent },
  })
  t.after(async () => {
    await app.close()
    await tools.close()
  })
  return { app, tools, model: app.model }
}

const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})
const stateOf = async (app: TestApp, { json }: Answer): Promise<string> =>
  (await app.made('GET', `/turns/${json.error?.request_id ?? json.request_id}`)).state
/** Returns what makes the deadline of every running turn pass. */
function holdDeadlines(t: TestContext): () => void {
  const { turnMs } = turnDefaults
  const { pass } = fakeTimers(t, (ms) => ms === turnMs)
  return () => pass(turnMs)
}
const thrice = [{ status: 503 }, { status: 503 }, { status: 503 }]

void test('retry.continues: after a finished call with side effects, a retry continues from it, on the version and the price of the first run', async (t) => {
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  model.script([call('book', { day: 'Monday' }), usage(1000, 100)], ...thrice)
  const released = await app.chat('book it', { idempotencyKey })
  assert.deepEqual([released.status, released.json.error.code], [503, 'service_unavailable'])
  assert.equal(await stateOf(app, released), 'released')
  assert.equal((await app.owner()).available_usd, '10.00000000')
  const price = { prompt_usd_per_million: '1.5', completion_usd_per_million: '6' }
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { system_prompt: 'You are another one.', tools: [], price })

  model.script(['Booked.', usage(100, 10)])
  const answer = await app.stream('book it', { idempotencyKey })
  const completed = answer.events.at(-1)!.data
  assert.equal(completed.message?.content, 'Booked.', answer.text)
  assert.equal(completed.request_id, released.json.error.request_id)
  assert.equal(tools.calls.length, 1)
  const asked = model.calls.at(-1)!
  assert.equal(asked.messages[0]!.content, 'You are a test.')
  assert.deepEqual(
    asked.messages.slice(-2).map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.deepEqual([completed.usage.prompt_tokens, completed.usage.completion_tokens], [1100, 110], "the first run's step is paid now")
  assert.equal(completed.usage.charged_usd, '0.00023100', "at the first run's price")
  assert.equal((await app.chat('next')).status, 200)
  assert.equal(model.calls.at(-1)!.messages[0]!.content, 'You are another one.')
  await app.verify()
})

void test('retry.continues: repeated retries keep counting steps, the model sees the earlier results again, and nothing is called twice', async (t) => {
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  model.script(['Booking.', call('book', { day: 'Monday' }, 'a'), call('look', { day: 'Monday' }, 'b')], { status: 503 })
  const first = await app.stream('book it', { idempotencyKey })
  assert.equal(first.events.at(-1)!.data.code, 'service_unavailable')
  model.script([call('cancel', { day: 'Monday' }, 'c')], { status: 503 })
  assert.equal((await app.chat('book it', { idempotencyKey })).status, 503)
  model.script(['All ', 'done.'])
  const { events } = await app.stream('book it', { idempotencyKey })
  const { data } = events.at(-1)!
  assert.equal(data.message?.content, 'Booking.\n\nAll done.')
  assert.equal(events.map((one) => one.data.delta ?? '').join(''), data.message.content, 'the deltas of this stream add up to its content')
  assert.deepEqual(tools.calls.map(({ path, idempotencyKey: key }) => [path, key]).toSorted(), [
    ['/book', `${data.request_id}:1:1`],
    ['/cancel', `${data.request_id}:2:1`],
    ['/look', `${data.request_id}:1:2`],
  ])
  const turn = await app.made('GET', `/turns/${data.request_id}`)
  assert.equal(turn.run, 3)
  await app.verify()
})

void test('retry.continues: what the earlier run has spent is held again, and charged in full with the reply', async (t) => {
  const agent = { max_output_tokens: 1000, history: { max_tokens: 0 }, knowledge: { max_tokens: 0 } }
  const { app, model } = await start(t, { agent })
  const idempotencyKey = randomUUID()
  const step = [call('book', { day: 'Monday' }), usage(50, 1000)]
  model.script(step, step, step, step, ...thrice)
  assert.equal((await app.chat('book it', { idempotencyKey })).status, 503)
  model.script(['Booked.', usage(50, 10)])
  const { json } = await app.chat('book it', { idempotencyKey })
  assert.equal(json.usage?.charged_usd, '0.00244350', JSON.stringify(json))
  assert.equal((await app.ledger())[0]!.written_off_usd, '0.00000000')
  await app.verify()
})

void test("retry.continues: without a finished call with side effects, a retry starts over on the agent's current version", async (t) => {
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  model.script([call('look', { day: 'Monday' })], ...thrice)
  assert.equal((await app.chat('look', { idempotencyKey })).status, 503)
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { system_prompt: 'You are another one.' })
  model.script([call('look', { day: 'Monday' })], 'It is free.')
  assert.equal((await app.chat('look', { idempotencyKey })).json.message.content, 'It is free.')
  assert.equal(tools.calls.length, 2)
  assert.equal(model.calls.at(-1)!.messages[0]!.content, 'You are another one.')
  await app.verify()
})

void test('billing.hold retry.continues: a step that the balance does not cover is insufficient_balance; after a top-up the turn continues, and the tool is not called again', async (t) => {
  const { app, tools, model } = await start(t)
  const agent = { tools: threeTools(tools), max_output_tokens: 1000, history: { max_tokens: 0 }, knowledge: { max_tokens: 0 } }
  const caller = await app.makeCaller({ balanceUsd: '0.00120000', agent })
  const idempotencyKey = randomUUID()
  model.script([call('book', { day: 'Monday' }), usage(100, 900)])
  const refused = await app.chat('book it', { idempotencyKey, caller })
  assert.deepEqual([refused.status, refused.json.error?.code], [402, 'insufficient_balance'], refused.text)
  assert.equal(await stateOf(app, refused), 'released')
  assert.equal(tools.calls.length, 1)
  assert.equal(model.calls.length, 1)
  const owner = await app.made('GET', `/owners/${caller.ownerId}`)
  assert.deepEqual([owner.balance_usd, owner.held_usd], ['0.00120000', '0.00000000'])
  await app.made('POST', `/owners/${caller.ownerId}/ledger`, { amount_usd: '1' }, { 'idempotency-key': 'top-up' })
  model.script(['Booked.', usage(100, 10)])
  const { json } = await app.chat('book it', { idempotencyKey, caller })
  assert.equal(json.message.content, 'Booked.')
  assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [200, 910])
  assert.equal(tools.calls.length, 1)
  await app.verify()
})

void test('tools.journal: a deadline during a call with side effects: the turn has failed, since the outcome of the call is unknown', async (t) => {
  const passDeadline = holdDeadlines(t)
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  const held = gate()
  tools.when('/book', held)
  model.script([call('book', { day: 'Monday' })])
  const asked = app.chat('book it', { idempotencyKey })
  await held.reached
  passDeadline()
  const failed = await asked
  assert.deepEqual([failed.status, failed.json.error.code], [500, 'internal_error'], failed.text)
  assert.equal(await stateOf(app, failed), 'failed')
  assert.deepEqual((await app.chat('book it', { idempotencyKey })).json, failed.json)
  assert.equal(tools.calls.length, 1)
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 0)
  await app.verify()
})

void test('tools.journal: a run that starts over gives no call the key of an earlier run', async (t) => {
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  model.script([call('look', { day: 'Monday' })], ...thrice)
  const released = await app.chat('book it', { idempotencyKey })
  assert.equal(await stateOf(app, released), 'released')
  // A different call is made now: a server that honors keys would take it for the first one.
  model.script([call('book', { day: 'Tuesday' })], ...thrice)
  assert.equal((await app.chat('book it', { idempotencyKey })).status, 503)
  model.script([call('cancel', { day: 'Monday' })], 'Done.')
  assert.equal((await app.chat('book it', { idempotencyKey })).status, 200)
  const id = released.json.error.request_id
  assert.deepEqual(
    tools.calls.map(({ path, idempotencyKey: key }) => [path, key]),
    [
      ['/look', `${id}:1:1`],
      ['/book', `${id}:2:1`],
      ['/cancel', `${id}:3:1`],
    ],
  )
  await app.verify()
})

void test('tools.journal: a deadline during a call without side effects: released, and it is called again', async (t) => {
  const passDeadline = holdDeadlines(t)
  const { app, tools, model } = await start(t)
  const idempotencyKey = randomUUID()
  const held = gate()
  tools.when('/look', held)
  model.script([call('look', { day: 'Monday' })])
  const asked = app.chat('look', { idempotencyKey })
  await held.reached
  passDeadline()
  const released = await asked
  assert.deepEqual([released.status, released.json.error.code], [503, 'service_unavailable'], released.text)
  assert.equal(await stateOf(app, released), 'released')
  held.open()
  model.script([call('look', { day: 'Monday' })], 'It is free.')
  assert.equal((await app.chat('look', { idempotencyKey })).status, 200)
  assert.equal(tools.calls.length, 2)
  await app.verify()
})

void test('retry.continues: a deadline between two calls with side effects, one finished and one not: the turn has failed', async (t) => {
  const passDeadline = holdDeadlines(t)
  const { app, tools, model } = await start(t)
  const held = gate()
  tools.when('/cancel', held)
  model.script([call('book', { day: 'Monday' }, 'a'), call('cancel', { day: 'Monday' }, 'b')])
  const asked = app.chat('do both')
  await held.reached
  const finished = `select count(*) as n from journal where kind = 'tool_finished'`
  await until('the end of the first call is stored', async () => Number((await app.query(finished))[0]!['n']) === 1)
  passDeadline()
  const failed = await asked
  assert.equal(failed.json.error.code, 'internal_error')
  assert.equal(await stateOf(app, failed), 'failed')
  assert.deepEqual(tools.calls.map(({ path }) => path).toSorted(), ['/book', '/cancel'])
  await app.verify()
})
