/** /v1/responses as a caller without a library sees it: objects, events and their numbers, continuing, cancelling. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cut, gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { askOpenAi, dataOf, responseBody, sendOpenAi } from '../support/openai-caller.ts'

const path = '/v1/responses'
const create = (app: TestApp, message: string, more: Json = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  askOpenAi(app, { path, body: responseBody(app, message, more), headers })
const on = (app: TestApp, id: string, what = '', method = 'GET', apiKey?: string): Promise<Answer> =>
  askOpenAi(app, { method, path: `${path}/${id}${what}`, ...(apiKey ? { apiKey } : {}) })
const errorOf = ({ status, json }: Answer): unknown[] => [status, json['error']?.code, json['error']?.param]

async function streamed(app: TestApp, message: string, more: Json = {}): Promise<Json[]> {
  return dataOf(await (await sendOpenAi(app, { path, body: responseBody(app, message, { stream: true, ...more }) })).text())
}
const followed = async (app: TestApp, id: string, query = ''): Promise<Json[]> =>
  dataOf(await (await sendOpenAi(app, { method: 'GET', path: `${path}/${id}?stream=true${query}` })).text())

async function untilEnded(app: TestApp, id: string): Promise<Json> {
  for (;;) {
    const { json } = await on(app, id)
    if (json['status'] !== 'in_progress') return json
  }
}
const deltasOf = (events: Json[]): string =>
  events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => delta as string)
    .join('')

void test('openai.same-turn: a response has the reply, the usage and the conversation of the turn, and can be retrieved', async () => {
  await using app = await startTestApp()
  app.model.script([
    'Hi there.',
    {
      usage: {
        prompt_tokens: 20,
        completion_tokens: 9,
        total_tokens: 29,
        prompt_tokens_details: { cached_tokens: 12 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    },
  ])
  const answer = await create(app, 'hello')
  assert.equal(answer.status, 200, answer.text)
  const { id, created_at: createdAt, completed_at: completedAt, conversation, ...rest } = answer.json
  const requestId = answer.headers.get('x-request-id')!
  assert.equal(id, `resp_${requestId.replaceAll('-', '')}`)
  assert.ok(answer.headers.has('x-ratelimit-limit'))
  assert.ok(Math.abs(createdAt - Date.now() / 1000) < 60 && completedAt >= createdAt)
  assert.deepEqual(rest['output'], [
    {
      id: id.replace('resp_', 'msg_'),
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi there.', annotations: [], logprobs: [] }],
    },
  ])
  assert.deepEqual(rest['usage'], {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 12, cache_write_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 29,
  })
  assert.deepEqual(
    [rest['status'], rest['object'], rest['error'], rest['incomplete_details'], rest['model']],
    ['completed', 'response', null, null, app.caller.agentId],
  )
  assert.deepEqual([rest['background'], rest['user'], rest['previous_response_id']], [false, 'user-1', null])
  const turn = await app.made('GET', `/turns/${requestId}`)
  assert.equal(conversation.id, turn['conversation_id'])
  assert.deepEqual((await on(app, id)).json, { ...answer.json, background: true })
  const items = await on(app, id, '/input_items?limit=10&order=asc')
  assert.deepEqual(items.json, {
    object: 'list',
    data: [
      {
        id: `${id.replace('resp_', 'msg_')}_in`,
        type: 'message',
        role: 'user',
        status: 'completed',
        content: [{ type: 'input_text', text: 'hello' }],
      },
    ],
    first_id: `${id.replace('resp_', 'msg_')}_in`,
    last_id: `${id.replace('resp_', 'msg_')}_in`,
    has_more: false,
  })
  await app.verify()
})

void test('openai.same-turn: a response in the background is retrieved while it runs, cancelled before text, and its failure is its status', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', [held, 'It ', 'rains.'])
  const started = await create(app, 'slow', { background: true })
  assert.deepEqual([started.status, started.json['status'], started.json['output'], started.json['usage']], [200, 'in_progress', [], null])
  const { id } = started.json
  assert.deepEqual((await on(app, id)).json, started.json)
  assert.equal((await on(app, id, '/input_items')).json['data'][0].content[0].text, 'slow')
  const cancelled = await on(app, id, '/cancel', 'POST')
  assert.deepEqual([cancelled.status, cancelled.json['status'], cancelled.json['error'].code], [200, 'cancelled', 'turn_cancelled'])
  assert.deepEqual((await on(app, id, '/cancel', 'POST')).json, cancelled.json)
  held.open()
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  const failing = await create(app, 'fails', { background: true })
  const failed = await untilEnded(app, failing.json['id'])
  assert.deepEqual([failed['status'], failed['error'].code, failed['usage'], failed['output']], ['failed', 'server_error', null, []])
  await app.verify()
})

void test('openai.same-turn: a response that is cancelled after text is incomplete, and is charged', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', ['It ', held, 'rains.'])
  const events = streamed(app, 'slow')
  await held.reached
  const [turn] = (await app.made('GET', '/turns?limit=1'))['data']
  const id = `resp_${turn.request_id.replaceAll('-', '')}`
  const cancelled = await on(app, id, '/cancel', 'POST')
  assert.deepEqual(
    [cancelled.json['status'], cancelled.json['incomplete_details'], cancelled.json['output'][0].status],
    ['incomplete', { reason: 'max_output_tokens' }, 'incomplete'],
  )
  assert.equal(cancelled.json['output'][0].content[0].text, 'It ')
  const last = (await events).at(-1)!
  assert.deepEqual(
    [last['type'], last['response'].status, last['response'].usage],
    ['response.incomplete', 'incomplete', cancelled.json['usage']],
  )
  held.open()
  assert.equal((await app.ledger()).filter(({ kind }) => kind === 'charge').length, 1)
})

void test('openai.model-is-the-agent: a key sees only the responses that it created', async () => {
  await using app = await startTestApp()
  const { id } = (await create(app, 'hello')).json
  const other = (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full' }))['api_key'] as string
  for (const wrong of ['resp_', 'resp_x', id.replace('resp_', 'msg_'), `${id}0`, `resp_${'0'.repeat(32)}`, '%00', id.slice(5)])
    for (const [what, method] of [
      ['', 'GET'],
      ['?stream=true', 'GET'],
      ['/cancel', 'POST'],
      ['/input_items', 'GET'],
    ] as const)
      assert.deepEqual(errorOf(await on(app, wrong, what, method)), [404, 'response_not_found', 'response_id'], wrong + what)
  for (const [what, method] of [
    ['', 'GET'],
    ['?stream=true', 'GET'],
    ['/cancel', 'POST'],
    ['/input_items', 'GET'],
  ] as const)
    assert.deepEqual(errorOf(await on(app, id, what, method, other)), [404, 'response_not_found', 'response_id'], what)
  const readOnly = (await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'read-only' }))['api_key'] as string
  assert.equal((await on(app, id, '/cancel', 'POST', readOnly)).status, 403)
})

void test('openai.conversation: previous_response_id and conversation must be those of the user', async () => {
  await using app = await startTestApp()
  const first = (await create(app, 'hello')).json
  const theirs = (await create(app, 'hello', { user: 'user-2' })).json
  const next = await create(app, 'and now', { previous_response_id: first['id'] })
  assert.deepEqual([next.status, next.json['previous_response_id'], next.json['conversation']], [200, first['id'], first['conversation']])
  for (const conversation of [first['conversation'], first['conversation'].id])
    assert.equal((await create(app, 'more', { conversation })).json['conversation'].id, first['conversation'].id)
  for (const id of [theirs['id'], 'resp_1', `resp_${'0'.repeat(32)}`])
    assert.deepEqual(
      errorOf(await create(app, 'no', { previous_response_id: id })),
      [404, 'previous_response_not_found', 'previous_response_id'],
      id,
    )
  assert.equal((await create(app, 'empty is absent', { previous_response_id: '', conversation: '' })).status, 200)
  for (const conversation of [theirs['conversation'], theirs['conversation'].id, 'conv_1'])
    assert.deepEqual(errorOf(await create(app, 'no', { conversation })), [404, 'conversation_not_found', 'conversation'])
  const both = { previous_response_id: first['id'], conversation: first['conversation'].id }
  assert.deepEqual(errorOf(await create(app, 'no', both)), [400, 'validation_error', 'conversation'])
  assert.deepEqual(errorOf(await create(app, 'no', { conversation: { id: 1 } })), [400, 'validation_error', 'conversation'])
  assert.equal(app.model.calls.length, 6)
})

const types = (events: Json[]): string[] => events.map(({ type }) => type as string)
const numbers = (events: Json[]): number[] => events.map(({ sequence_number: number }) => number as number)

void test('openai.resume: the events have consecutive numbers, and every stream of the turn has the same ones', async () => {
  await using app = await startTestApp()
  // In pieces that no boundary agrees with.
  const reply = "It rains in Oslo 🌧, isn't it?\n\n下雨了。 Ærlig talt: 3.14 https://example.com/a-long-path?with=a&query=that-goes-on"
  app.model.when(
    'weather',
    [...reply].map((character) => character),
  )
  const events = await streamed(app, 'weather')
  assert.deepEqual(types(events).slice(0, 4), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
  ])
  assert.deepEqual(types(events).slice(-4), [
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  assert.ok(
    types(events)
      .slice(4, -4)
      .every((type) => type === 'response.output_text.delta'),
  )
  assert.deepEqual(
    numbers(events),
    events.map((_, index) => index),
  )
  assert.equal(deltasOf(events), reply)
  assert.ok(events.length > 30, `${events.length} events`)
  const { response } = events.at(-1)!
  assert.equal(response.output[0].content[0].text, reply)
  const id = response.id as string
  const whole = await followed(app, id)
  // What only the request had is not stored.
  const stored = (list: Json[]): Json[] =>
    list.map((event) => (event['response'] ? { ...event, response: { ...event['response'], background: true } } : event))
  assert.deepEqual(whole, stored(events))
  for (const after of [0, 3, 4, 17, events.length - 6, events.length - 5, events.length - 2])
    assert.deepEqual(await followed(app, id, `&starting_after=${after}`), stored(events).slice(after + 1), String(after))
  assert.deepEqual(await followed(app, id, `&starting_after=${events.length - 1}`), [])
})

void test('openai.resume: a stream that was cut continues while the turn runs, no text twice and none missing', async () => {
  await using app = await startTestApp()
  const [one, two] = [gate(), gate()]
  app.model.when('weather', ['It rains ', one, 'in Os', two, 'lo today.'])
  const leave = new AbortController()
  const response = await sendOpenAi(app, { path, body: responseBody(app, 'weather', { stream: true }), signal: leave.signal })
  const id = `resp_${response.headers.get('x-request-id')!.replaceAll('-', '')}`
  let text = ''
  for await (const bytes of response.body!) {
    text += Buffer.from(bytes).toString()
    if (text.includes('" rains"')) break
  }
  leave.abort()
  const before = dataOf(text)
  const rest = followed(app, id, `&starting_after=${before.at(-1)!['sequence_number']}`)
  one.open()
  two.open()
  const events = [...before, ...(await rest)]
  assert.deepEqual(
    numbers(events),
    events.map((_, index) => index),
  )
  assert.equal(deltasOf(events), 'It rains in Oslo today.')
  assert.equal(app.model.calls.length, 1)
})

void test('openai.resume: a long text that is running is continued at once, not at its end', async () => {
  await using app = await startTestApp()
  const held = gate()
  const long = 'All of these words. '.repeat(5000)
  // A piece this late has more than a hundred characters, so the one with the mark is not the last.
  app.model.when('weather', [`${long}mark. ${long.slice(0, 1000)}`, held, 'end.'])
  const started = await create(app, 'weather', { background: true })
  const { id } = started.json
  await held.reached
  const leave = new AbortController()
  const response = await sendOpenAi(app, { method: 'GET', path: `${path}/${id}?stream=true&starting_after=100`, signal: leave.signal })
  let text = ''
  for await (const bytes of response.body!) {
    text += Buffer.from(bytes).toString()
    if (text.includes('mark')) break
  }
  assert.ok(text.includes('mark') && !text.includes('response.failed'), 'the text arrives while the model waits')
  assert.ok(text.length > 262_144, `${text.length} bytes`)
  assert.equal(numbers(dataOf(text.slice(0, text.lastIndexOf('\n\n'))))[0], 101)
  held.open()
})

void test('openai.resume: a failure is the last event, also for a client that has text which is gone', async () => {
  await using app = await startTestApp()
  app.model.when('weather', ['It rains in Oslo ', cut('rst')])
  const events = await streamed(app, 'weather')
  const last = events.at(-1)!
  assert.deepEqual(
    [last['type'], last['response'].status, last['response'].error.code, last['sequence_number']],
    ['response.failed', 'failed', 'server_error', events.length - 1],
  )
  const { id } = last['response']
  const again = await followed(app, id, `&starting_after=${events.length - 2}`)
  assert.deepEqual([types(again), numbers(again)], [['response.failed'], [events.length - 1]])
})

void test('openai.resume: after another attempt, an event of the first is refused instead of mixing two texts', async () => {
  await using app = await startTestApp()
  app.model.script(['One ', cut('rst')], ['Two ', 'words.'])
  const headers = { 'idempotency-key': 'k' }
  const body = responseBody(app, 'weather', { stream: true })
  const first = dataOf(await (await sendOpenAi(app, { path, body, headers })).text())
  const second = dataOf(await (await sendOpenAi(app, { path, body, headers })).text())
  const { id } = first.at(-1)!['response']
  assert.equal(second.at(-1)!['response'].id, id)
  assert.deepEqual([deltasOf(first), deltasOf(second)], ['One', 'Two words.'])
  assert.ok(numbers(second)[0]! > numbers(first).at(-1)!)
  assert.deepEqual(errorOf(await on(app, id, '?stream=true&starting_after=4')), [400, 'response_regenerated', 'starting_after'])
  assert.deepEqual(numbers(await followed(app, id, `&starting_after=${numbers(second)[4]}`)), numbers(second).slice(5))
  assert.deepEqual(numbers(await followed(app, id)), numbers(second))
})

void test('openai.refused-parameters: the query of a response', async () => {
  await using app = await startTestApp()
  const { id } = (await create(app, 'hello')).json
  for (const [query, code, param] of [
    ['?stream=1', 'validation_error', 'stream'],
    ['?starting_after=1', 'validation_error', 'starting_after'],
    ['?stream=true&starting_after=-1', 'validation_error', 'starting_after'],
    ['?stream=true&starting_after=x', 'validation_error', 'starting_after'],
    ['?stream=true&stream=true', 'validation_error', 'stream'],
    ['?a=1', 'unknown_parameter', null],
  ])
    assert.deepEqual(errorOf(await on(app, id, query!)), [400, code, param], query!)
  assert.equal((await on(app, id, '?include[]=reasoning.encrypted_content&include[]=a&include_obfuscation=false')).status, 200)
})
