/** Prices of tools over the API: charged once for each finished call, held before it is made, and paid by a cancelled turn. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { call, dayTool } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'

const free = { prompt_usd_per_million: '0', completion_usd_per_million: '0' }

type Started = { app: TestApp; tools: ToolServer; model: TestApp['model'] }

/** `book` costs a cent, `look` (without side effects) a tenth of it, and the clock 0.00000001; tokens are free. */
async function start(t: TestContext, agent: Json = {}, balanceUsd = '10'): Promise<Started> {
  const tools = await startToolServer()
  const app = await startTestApp({
    env: { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address },
    balanceUsd,
    agent: {
      price: free,
      tools: [
        dayTool(tools, 'book', { price_usd: '0.01' }),
        dayTool(tools, 'look', { side_effects: false, price_usd: '0.001' }),
        { type: 'builtin', name: 'now', price_usd: '0.00000001' },
      ],
      ...agent,
    },
  })
  t.after(async () => {
    await app.close()
    await tools.close()
  })
  return { app, tools, model: app.model }
}

const day = { day: 'Monday' }
const turnOf = (app: TestApp, requestId: string): Promise<Json> => app.made('GET', `/turns/${requestId}`)

void test('billing.tool-price: each call that its tool answered is charged once, an error included, and no other call is', async (t) => {
  const { app, tools, model } = await start(t)
  tools.when('/look', { status: 500, body: 'no' })
  model.script(
    [call('book', day, 'a'), call('look', day, 'b'), call('now', {}, 'c'), call('book', { day: 7 }, 'd'), call('nothing', {}, 'e')],
    [call('book', day, 'f')],
    'Done.',
  )
  const { json } = await app.chat('go')
  assert.equal(json.message?.content, 'Done.')
  assert.equal(json.usage.charged_usd, '0.02100001')
  const turn = await turnOf(app, json.request_id)
  assert.equal(turn.usage.tool_calls_usd, '0.02100001')
  assert.deepEqual(
    turn.steps.filter(({ kind }: Json) => kind === 'tool_finished').map(({ payload }: Json) => [payload.name, payload.price_usd]),
    [
      ['book', '0.01000000'],
      ['look', '0.00100000'],
      ['now', '0.00000001'],
      ['book', '0.00000000'],
      ['nothing', '0.00000000'],
      ['book', '0.01000000'],
    ],
  )
  assert.deepEqual(turn.price_calculation.lines.at(-1), {
    kind: 'tool_calls',
    tokens: null,
    usd_per_million: null,
    amount_usd: '0.02100001',
  })
  const { spans } = await app.made('GET', `/turns/${json.request_id}/trace`)
  const shown = spans.filter(({ type }: Json) => type === 'tool_call').map(({ price_usd: price }: Json) => price)
  assert.deepEqual(shown.filter((price: string) => Number(price) > 0).length, 4)
  assert.equal((await app.ledger())[0]!.amount_usd, '-0.02100001')
  await app.verify()
})

void test('billing.tool-price: a call without an answer is not charged', async (t) => {
  const { app, tools, model } = await start(t)
  await tools.close()
  model.script([call('look', day)], 'Done.')
  const { json } = await app.chat('go')
  assert.deepEqual([json.message?.content, json.usage.charged_usd], ['Done.', '0.00000000'])
  await app.verify()
})

void test('billing.tool-price billing.hold: the calls of a step are held before any is made: if they do not fit, none is made and nothing is charged', async (t) => {
  const { app, tools, model } = await start(t, {}, '0.02')
  const held = gate()
  tools.when('/book', held)
  model.script([call('book', day, 'a'), call('book', day, 'b')], 'Done.')
  const fits = app.chat('go')
  await tools.waitFor('/book', 2)
  assert.equal((await app.owner()).held_usd, '0.02000000')
  held.open()
  assert.equal((await fits).json.usage.charged_usd, '0.02000000')
  const short = await app.makeCaller({ balanceUsd: '0.02999999', agent: await agentFields(app) })
  const before = tools.calls.length
  model.script([call('book', day, 'a'), call('book', day, 'b'), call('book', day, 'c')], 'Done.')
  const { status, json } = await app.chat('go', { caller: short })
  assert.deepEqual([status, json.error.code], [402, 'insufficient_balance'])
  assert.equal(tools.calls.length, before, 'no call was made')
  const turn = await turnOf(app, json.error.request_id)
  assert.deepEqual([turn.state, turn.usage, turn.price_calculation], ['released', null, null])
  await app.verify()
})

async function agentFields(app: TestApp): Promise<Json> {
  const { tools } = await app.made('GET', `/agents/${app.caller.agentId}`)
  return { price: free, tools }
}

void test('billing.tool-price: a turn that fails after priced calls charges nothing; what they cost is unpaid', async (t) => {
  const { app, model } = await start(t)
  model.script([call('look', day)], [{ finish: 'stop' }], [{ finish: 'stop' }])
  const { json } = await app.chat('go')
  assert.equal(json.error.code, 'internal_error')
  const turn = await turnOf(app, json.error.request_id)
  assert.deepEqual([turn.state, turn.failure.cause_kind, turn.usage], ['failed', 'empty_reply', null])
  assert.deepEqual([(await app.owner()).unpaid_usd, (await app.owner()).balance_usd], ['0.00100000', '10.00000000'])
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 0)
  await app.verify()
})

void test('billing.tool-price turn.cancel: a turn that is cancelled before any text pays its finished calls, once, in the transaction that ends it', async (t) => {
  const { app, model, tools } = await start(t)
  await app.made('POST', '/webhooks', { url: `http://${tools.address}/hook`, events: ['turn.cancelled'] })
  await app.moveClock(2)
  const held = gate()
  model.script([call('book', day)], [held, 'never'])
  const key = randomUUID()
  const waiting = app.chat('go', { idempotencyKey: key })
  await held.reached
  const { data } = await app.made('GET', '/turns?status=running')
  const requestId = data[0].request_id
  await app.made('POST', `/turns/${requestId}/cancel`)
  const { status, json } = await waiting
  assert.deepEqual([status, json.error.code], [409, 'turn_cancelled'])
  held.open()
  const turn = await turnOf(app, requestId)
  assert.deepEqual([turn.state, turn.usage?.charged_usd, turn.usage?.tool_calls_usd], ['cancelled', '0.01000000', '0.01000000'])
  assert.equal(turn.price_calculation.charged_usd, '0.01000000')
  // Everywhere the same, without what only operators see.
  const { agentId, apiKey } = app.caller
  const base = `${app.url}/v1/agents/${agentId}/turns`
  for (const path of [`${base}/${requestId}`, `${base}?idempotency_key=${key}`]) {
    const found = (await (await fetch(path, { headers: { authorization: `Bearer ${apiKey}` } })).json()) as Json
    assert.deepEqual([found['status'], { ...found['usage'], estimated: false }], ['cancelled', turn.usage])
  }
  await until('the event is sent', () => tools.calls.some(({ path }) => path === '/hook'))
  const { data: sent } = JSON.parse(tools.calls.find(({ path }) => path === '/hook')!.body) as Json
  assert.deepEqual(sent['usage'], { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, charged_usd: '0.01000000', estimated: false })
  const charges = (await app.ledger()).filter(({ kind }) => kind === 'charge')
  assert.deepEqual(
    charges.map(({ amount_usd: amount, request_id: id }) => [amount, id]),
    [['-0.01000000', requestId]],
  )
  assert.deepEqual((await app.chat('go', { idempotencyKey: key })).json.error.code, 'turn_cancelled')
  const owner = await app.owner()
  assert.deepEqual([owner.balance_usd, owner.held_usd], ['9.99000000', '0.00000000'])
  const { totals } = await app.made('GET', '/usage?bucket=hour')
  assert.deepEqual([totals.charged_usd, totals.cancelled], ['0.01000000', 1])
  await app.verify()
})

void test('billing.tool-price: a released turn that continues is charged for its calls once, by the run with the reply', async (t) => {
  const { app, tools, model } = await start(t)
  const key = randomUUID()
  model.script([call('book', day)], { status: 400, body: { error: { message: 'no' } } })
  assert.equal((await app.chat('go', { idempotencyKey: key })).json.error.code, 'internal_error')
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 0)
  model.script('Done.')
  const { json } = await app.chat('go', { idempotencyKey: key })
  assert.deepEqual([json.message?.content, json.usage.charged_usd], ['Done.', '0.01000000'])
  assert.equal(tools.calls.length, 1)
  await app.verify()
})

void test('billing.tool-price: the price of a tool is checked, shown, and saved with the version', async (t) => {
  const { app, tools } = await start(t)
  const path = `/agents/${app.caller.agentId}`
  const { tools: shown, version } = await app.made('GET', path)
  assert.deepEqual(
    shown.map(({ name, price_usd: price }: Json) => [name, price]),
    [
      ['book', '0.01000000'],
      ['look', '0.00100000'],
      ['now', '0.00000001'],
    ],
  )
  assert.equal((await app.made('PATCH', path, { tools: shown })).version, version, 'saving the same again changes nothing')
  for (const price of ['-0.01', '1000.00000001', '1e3', 'free'])
    assert.match(
      (await app.admin('PATCH', path, { tools: [dayTool(tools, 'book', { price_usd: price })] })).json.error.message,
      /price_usd/,
    )
  const [unpriced] = (await app.made('PATCH', path, { tools: [dayTool(tools, 'book')] })).tools
  assert.equal(unpriced.price_usd, '0.00000000')
})
