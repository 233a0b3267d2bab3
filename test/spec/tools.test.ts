/** The loop model → tools → model over the API: what is called, what the model receives, what it costs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { gate } from '../support/model-server.ts'
import type { ModelServer, RecordedCall, Script } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json, TestApp, TestAppOptions } from '../support/test-app.ts'
import { call, threeTools } from '../support/tool-process-runs.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServer } from '../support/tool-server.ts'

type Started = { app: TestApp; tools: ToolServer; model: ModelServer }

/** An app whose agent has the tools `book`, `look` and `cancel`. */
async function start(t: TestContext, { agent = {}, ...options }: TestAppOptions = {}): Promise<Started> {
  const tools = await startToolServer()
  const env = { TURNKEEP_ALLOW_PRIVATE_HOSTS: tools.address, ...options.env }
  const app = await startTestApp({ ...options, env, agent: { tools: threeTools(tools), ...agent } })
  t.after(async () => {
    await app.close()
    await tools.close()
  })
  return { app, tools, model: app.model }
}

const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})
/** The results that the model received for its calls, in the order in which it reads them. */
const reported = ({ messages }: RecordedCall): (string | null)[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
const charges = async (app: TestApp): Promise<number> => (await app.ledger()).filter(({ kind }) => kind === 'charge').length

void test('tools.journal: two calls of one step run concurrently, their results are returned in order, and every step is charged', async (t) => {
  const { app, tools, model } = await start(t)
  const both = gate()
  tools.when('/book', both)
  tools.when('/look', both)
  model.script(
    ['Let me ', 'see.', call('book', { day: 'Monday' }, 'a'), call('look', { day: 'Tuesday' }, 'b'), usage(100, 10)],
    [call('cancel', { day: 'Monday' }, 'c'), usage(200, 20)],
    ['All ', 'done.', usage(300, 30)],
  )
  const streamed = app.stream('plan my week')
  await Promise.all([tools.waitFor('/book', 1), tools.waitFor('/look', 1)])
  both.open()
  const { events } = await streamed
  const names = events.map(({ event }) => event)
  assert.equal(names[0], 'response.created')
  assert.equal(names.at(-1), 'response.completed')
  assert.deepEqual(new Set(names.slice(1, -1)), new Set(['response.output_text.delta']))
  const { data } = events.at(-1)!
  assert.equal(data.message.content, 'Let me see.\n\nAll done.')
  assert.equal(events.map((one) => one.data.delta ?? '').join(''), data.message.content, 'the deltas add up to the content')
  assert.deepEqual([data.usage.prompt_tokens, data.usage.completion_tokens], [600, 60])

  const id = data.request_id
  assert.deepEqual(tools.calls.map(({ path, idempotencyKey, body }) => [path, idempotencyKey, body]).toSorted(), [
    ['/book', `${id}:1:1`, '{"day":"Monday"}'],
    ['/cancel', `${id}:2:1`, '{"day":"Monday"}'],
    ['/look', `${id}:1:2`, '{"day":"Tuesday"}'],
  ])
  const [first, second, third] = model.calls
  assert.deepEqual(
    (first!.body.tools as Json[]).map((tool) => tool.function.name),
    ['book', 'look', 'cancel'],
  )
  assert.equal(reported(second!).length, 2)
  assert.match(reported(second!)[0]!, /\/book done/)
  assert.match(reported(second!)[1]!, /\/look done/)
  assert.match(reported(third!)[2]!, /\/cancel done/)
  const said = second!.messages.find(({ role }) => role === 'assistant')!
  assert.equal(said.content, 'Let me see.')
  assert.equal((said.tool_calls as Json[]).length, 2)
  assert.equal(await charges(app), 1)
  await app.verify()
})

const garbage: { what: string; asked: Script; tells: RegExp }[] = [
  { what: 'an unknown tool', asked: [call('nothing', { day: 'Monday' })], tells: /no tool named/ },
  { what: 'the name of an inherited property', asked: [call('constructor', {})], tells: /no tool named/ },
  { what: 'arguments that are not JSON', asked: [call('book', '{"day": "Mon')], tells: /JSON/ },
  { what: 'arguments of another type', asked: [call('book', { day: 7 })], tells: /day/ },
  { what: 'unexpected arguments', asked: [call('book', { day: 'Monday', host: 'evil.example' })], tells: /host/ },
  { what: 'no arguments', asked: [call('look', '')], tells: /day|JSON|argument/ },
]
for (const { what, asked, tells } of garbage) {
  void test(`fault.tool-calls-invalid tools.caps: ${what}: not called, the model gets an error, and the turn continues`, async (t) => {
    const { app, tools, model } = await start(t)
    model.script(asked, 'Never mind.')
    const { status, json } = await app.chat('go')
    assert.deepEqual([status, json.message?.content], [200, 'Never mind.'])
    assert.equal(tools.calls.length, 0)
    assert.match(reported(model.calls[1]!)[0]!, tells)
    await app.verify()
  })
}

void test('fault.tool-calls-invalid tools.caps: a thousand calls at once: sixteen are made, the model gets an error for the others', async (t) => {
  const { app, tools, model } = await start(t)
  model.script(
    Array.from({ length: 1000 }, (_, n) => call(n % 2 ? 'look' : 'book', { day: `day ${n}` }, `c${n}`)),
    'Enough.',
  )
  const { status, json } = await app.chat('go')
  assert.deepEqual([status, json.message?.content], [200, 'Enough.'])
  assert.deepEqual(new Set(tools.calls.map(({ body }) => JSON.parse(body).day)), new Set(Array.from({ length: 16 }, (_, n) => `day ${n}`)))
  const results = reported(model.calls[1]!)
  assert.equal(results.length, 1000)
  assert.ok(results.slice(16).every((text) => text!.includes('no more than 16 calls')))
  await app.verify()
})

void test('fault.tool-calls-invalid tools.caps: a model that never stops: eight steps, sixteen calls, then internal_error, nothing charged', async (t) => {
  const { app, tools, model } = await start(t)
  model.when(/./, [call('look', { day: 'a' }, 'a'), call('look', { day: 'b' }, 'b'), call('look', { day: 'c' }, 'c')])
  const { status, json } = await app.chat('go')
  assert.deepEqual([status, json.error.code], [500, 'internal_error'])
  assert.equal(model.calls.length, 8)
  assert.equal(tools.calls.length, 16)
  assert.equal((await app.made('GET', `/turns/${json.error.request_id}`)).state, 'failed')
  assert.equal(await charges(app), 0)
  assert.equal((await app.owner()).balance_usd, '10.00000000')
  assert.deepEqual(await app.messages(), [])
  await app.verify()
})

void test("tools.caps: both limits are the agent's settings, and no tool is called whose result no model would read", async (t) => {
  const { app, tools, model } = await start(t, { agent: { max_steps: 2, max_tool_calls: 1 } })
  model.when(/./, [call('book', { day: 'a' }, 'a'), call('book', { day: 'b' }, 'b')])
  const { json } = await app.chat('go')
  assert.equal(json.error.code, 'internal_error')
  assert.equal(model.calls.length, 2)
  assert.deepEqual(
    tools.calls.map(({ body }) => body),
    ['{"day":"a"}'],
  )
  await app.verify()
})

for (const [what, asked] of Object.entries({ whole: call('book', { day: 'Monday' }), half: call('book', '{"day": "Mon') })) {
  void test(`fault.tool-calls-invalid turn.states: an unfinished tool call, its arguments ${what}, is final and is not made`, async (t) => {
    const { app, tools, model } = await start(t)
    model.script([asked, { finish: 'length' }])
    const { json } = await app.chat('go')
    assert.equal(json.error.code, 'internal_error')
    assert.equal((await app.made('GET', `/turns/${json.error.request_id}`)).state, 'failed')
    assert.equal(tools.calls.length, 0)
    await app.verify()
  })
}

void test('fault.model-reply-empty turn.states: a last step without text is an empty reply, whatever earlier steps said: one more try, then final', async (t) => {
  const { app, model } = await start(t)
  model.script(['Let me see.', call('look', { day: 'Monday' })], [''], 'It is free.')
  assert.equal((await app.chat('is it free?')).json.message.content, 'Let me see.\n\nIt is free.')
  model.script(['Let me see.', call('look', { day: 'Monday' })], [''], [{ reasoning: 'hm' }])
  const { json } = await app.chat('is it free?')
  assert.equal(json.error.code, 'internal_error')
  assert.equal((await app.made('GET', `/turns/${json.error.request_id}`)).state, 'failed')
  await app.verify()
})

void test('billing.hold: each further step is held before its model call, including its results and the tools', async (t) => {
  const { app, tools, model } = await start(t)
  // The result is most of the second prompt: 30,000 bytes, held as 15,000 tokens at $0.15 per million.
  tools.when('/look', { body: 'x'.repeat(30_000) })
  const [first, second] = [gate(), gate()]
  model.script([first, call('look', { day: 'Monday' }), usage(1000, 100)], [second, 'Fine.'])
  const answered = app.chat('go')
  const held = async (): Promise<number> => Number((await app.owner()).held_usd)
  await first.reached
  const atFirst = await held()
  first.open()
  await second.reached
  const atSecond = await held()
  second.open()
  assert.equal((await answered).status, 200)
  // The cost of the first step, the result, and one more complete answer.
  const more = (1000 * 0.15 + 100 * 0.6 + 15_000 * 0.15 + 2048 * 0.6) / 1e6
  assert.ok(atSecond >= more, `${atSecond} is held, ${more} is needed`)
  assert.ok(atSecond > atFirst, `${atSecond} after ${atFirst}`)
  assert.equal(await held(), 0)
  await app.verify()
})

void test('tools.journal: the operator can read the calls; the public response contains nothing of them', async (t) => {
  const { app, model } = await start(t)
  model.script([{ reasoning: 'secret thought' }, call('book', { day: 'Monday' })], 'Booked.')
  const { events, text } = await app.stream('book it')
  assert.doesNotMatch(text, /Monday|book done|secret thought|call-1|tool/)
  const turn = await app.made('GET', `/turns/${events.at(-1)!.data.request_id}`)
  assert.deepEqual(
    turn.steps.map(({ step, part, kind }: Json) => [step, part, kind]),
    [
      [1, 0, 'model'],
      [1, 1, 'tool_started'],
      [1, 1, 'tool_finished'],
    ],
  )
  await app.verify()
})
