/** POST /v1/chat/completions and GET /v1/models, as a caller without a library sees them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { APIError } from 'openai'
import { ApiError } from '../../src/errors.ts'
import { beginTurn } from '../../src/http/openai/openai-request.ts'
import type { Turns } from '../../src/http/public/chat-routes.ts'
import type { BeginResult, TurnEnd } from '../../src/turn/outcome.ts'
import { gate } from '../support/model-server.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Answer, Json, TestApp } from '../support/test-app.ts'
import { apiKey, ScriptedTurn, startTestLayer } from '../support/test-http-layer.ts'
import { askOpenAi, completionBody, dataOf, openAiClient, responseBody, sendOpenAi } from '../support/openai-caller.ts'
import { until } from '../support/until.ts'

const ask = (app: TestApp, message: string, more: Json = {}, headers: Record<string, string> = {}) =>
  askOpenAi(app, { body: completionBody(app, message, more), headers })
const errorOf = ({ status, json }: { status: number; json: Json }): unknown[] => [status, json['error']?.code, json['error']?.param]
const charges = async (app: TestApp): Promise<number> => (await app.ledger()).filter(({ kind }) => kind === 'charge').length

void test('openai.same-turn: a completion is the turn of /chat: one record, one conversation, one charge', async () => {
  await using app = await startTestApp()
  const answer = await ask(app, 'hello', {}, { 'idempotency-key': 'key 1' })
  assert.equal(answer.status, 200, answer.text)
  const replayed = await app.chat('hello', { idempotencyKey: 'key 1' })
  const requestId = replayed.json['request_id'] as string
  assert.deepEqual(answer.json, {
    id: `chatcmpl-${requestId.replaceAll('-', '')}`,
    object: 'chat.completion',
    created: Math.floor(Number.parseInt(requestId.replaceAll('-', '').slice(0, 12), 16) / 1000),
    model: app.caller.agentId,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: replayed.json['message'].content, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: {
      prompt_tokens: replayed.json['usage'].prompt_tokens,
      completion_tokens: replayed.json['usage'].completion_tokens,
      total_tokens: replayed.json['usage'].total_tokens,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
    },
  })
  assert.equal(answer.headers.get('x-request-id'), requestId)
  assert.ok(answer.headers.has('x-ratelimit-remaining'))
  assert.deepEqual([app.model.calls.length, await charges(app)], [1, 1])
  // The other way round, and with the kinds of tokens that a replay does not carry.
  app.model.script([
    'Hi',
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
  await app.chat('again', { idempotencyKey: 'key 2' })
  const second = await ask(app, 'again', {}, { 'idempotency-key': 'key 2' })
  assert.deepEqual(
    [
      second.json['choices'][0].message.content,
      second.json['usage'].prompt_tokens_details.cached_tokens,
      second.json['usage'].completion_tokens_details.reasoning_tokens,
    ],
    ['Hi', 12, 4],
  )
  assert.equal((await app.messages()).length, 4)
  assert.deepEqual([app.model.calls.length, await charges(app)], [2, 2])
  await app.verify()
})

void test('openai.same-turn: the last user message is the message, its text parts joined; the history is that of the server', async () => {
  await using app = await startTestApp()
  const messages = [
    { role: 'user', content: 'forgotten' },
    { role: 'assistant', content: 'also' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one ' },
        { type: 'text', text: 'two' },
      ],
    },
    { role: 'assistant', content: 'prefilled' },
  ]
  assert.equal((await ask(app, '', { messages })).status, 200)
  assert.equal(app.model.calls[0]!.lastUserMessage, 'one two')
  assert.deepEqual(
    app.model.calls[0]!.messages.map(({ role }) => role),
    ['system', 'user'],
  )
  assert.equal((await ask(app, 'three')).status, 200)
  assert.deepEqual(
    app.model.calls[1]!.messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  )
})

void test('openai.same-turn: chunks have the role first, then the text, the reason, the usage if it is asked for, and [DONE]', async () => {
  await using app = await startTestApp()
  app.model.when('weather', ['It ', 'rains ', '🌧.'])
  for (const includeUsage of [false, true]) {
    const options = includeUsage ? { stream_options: { include_usage: true } } : {}
    const response = await sendOpenAi(app, { body: completionBody(app, 'weather', { stream: true, ...options }) })
    assert.deepEqual(
      [response.status, response.headers.get('content-type'), response.headers.has('x-ratelimit-limit')],
      [200, 'text/event-stream', false],
    )
    const events = dataOf(await response.text())
    assert.deepEqual(events.pop(), { done: true })
    const usage = includeUsage ? events.pop() : undefined
    if (usage) assert.deepEqual([usage['choices'], Object.keys(usage['usage'])[0]], [[], 'prompt_tokens'])
    const id = `chatcmpl-${response.headers.get('x-request-id')!.replaceAll('-', '')}`
    for (const chunk of events) {
      assert.deepEqual([chunk['id'], chunk['object'], chunk['model']], [id, 'chat.completion.chunk', app.caller.agentId])
      assert.equal('usage' in chunk, includeUsage)
    }
    const choices = events.map((chunk) => chunk['choices'][0])
    assert.deepEqual(
      choices.map(({ delta, finish_reason: reason }) => [delta, reason]),
      [
        [{ role: 'assistant', content: '', refusal: null }, null],
        [{ content: 'It ' }, null],
        [{ content: 'rains ' }, null],
        [{ content: '🌧.' }, null],
        [{}, 'stop'],
      ],
    )
  }
})

void test('openai.same-turn: a replayed stream has the whole reply, and a failed one ends with an error and no [DONE]', async () => {
  await using app = await startTestApp()
  const body = completionBody(app, 'hello', { stream: true, stream_options: { include_usage: true } })
  const headers = { 'idempotency-key': 'k' }
  const first = dataOf(await (await sendOpenAi(app, { body, headers })).text())
  const second = dataOf(await (await sendOpenAi(app, { body, headers })).text())
  const textOf = (events: Json[]): string => events.map((event) => event['choices']?.[0]?.delta.content ?? '').join('')
  assert.equal(textOf(second), textOf(first))
  assert.deepEqual(second.at(-2), first.at(-2))
  assert.equal(app.model.calls.length, 1)
  app.model.script({ status: 400, body: { error: { message: 'no' } } })
  const failed = dataOf(await (await sendOpenAi(app, { body: completionBody(app, 'fails', { stream: true }) })).text())
  assert.deepEqual(failed.at(-1), {
    error: {
      message: 'The request failed because of an internal error. Give this request_id to the operator.',
      type: 'server_error',
      param: null,
      code: 'internal_error',
    },
  })
})

void test('openai.errors: a message that is too long for the agent and a header that is refused are named in param', async () => {
  await using app = await startTestApp({ agent: { max_message_length: 5 } })
  assert.deepEqual(errorOf(await ask(app, 'too long')), [400, 'validation_error', 'messages'])
  const response = { path: '/v1/responses', body: responseBody(app, 'too long') }
  assert.deepEqual(errorOf(await askOpenAi(app, response)), [400, 'validation_error', 'input'])
  assert.deepEqual(errorOf(await ask(app, 'hello', {}, { 'idempotency-key': 'x'.repeat(256) })), [
    400,
    'validation_error',
    'Idempotency-Key',
  ])
})

void test('openai.model-is-the-agent: the model is the ID of the agent or the slug of its name, and nothing else', async () => {
  await using app = await startTestApp({ agent: { name: 'Crème & Co: Support (EU)' } })
  for (const model of [app.caller.agentId, 'creme-co-support-eu']) assert.equal((await ask(app, 'hello', { model })).status, 200, model)
  for (const model of ['gpt-4o', 'Crème & Co: Support (EU)', app.caller.agentId.toUpperCase(), 'creme-co-support-eu-'])
    assert.deepEqual(errorOf(await ask(app, 'hello', { model })), [404, 'model_not_found', 'model'], model)
  const list = await askOpenAi(app, { method: 'GET', path: '/v1/models' })
  assert.deepEqual(
    list.json['data'].map(({ id }: Json) => id),
    [app.caller.agentId, 'creme-co-support-eu'],
  )
  assert.ok(list.headers.has('x-ratelimit-limit'))
  for (const model of list.json['data'] as Json[]) {
    assert.deepEqual((await askOpenAi(app, { method: 'GET', path: `/v1/models/${model['id']}` })).json, model)
    assert.deepEqual([model['object'], model['owned_by'], Number.isInteger(model['created'])], ['model', 'turnkeep', true])
  }
  assert.deepEqual(errorOf(await askOpenAi(app, { method: 'GET', path: '/v1/models/gpt-4o' })), [404, 'model_not_found', 'model'])
  // A name without a letter or digit has no slug.
  await app.made('PATCH', `/agents/${app.caller.agentId}`, { name: '支持' })
  assert.deepEqual(
    (await askOpenAi(app, { method: 'GET', path: '/v1/models' })).json['data'].map(({ id }: Json) => id),
    [app.caller.agentId],
  )
  assert.deepEqual(errorOf(await ask(app, 'hello', { model: '' })), [400, 'validation_error', 'model'], 'empty is absent')
})

void test('openai.user: user, or safety_identifier, or the default of the key is the end user', async () => {
  await using app = await startTestApp()
  const without = { user: undefined }
  assert.deepEqual(errorOf(await ask(app, 'hello', without)), [400, 'missing_user', 'user'])
  for (const user of [null, '']) assert.deepEqual(errorOf(await ask(app, 'hello', { user })), [400, 'missing_user', 'user'])
  for (const user of ['a'.repeat(256), 7, 'a\0', '\ud800'])
    assert.deepEqual(errorOf(await ask(app, 'hello', { user })), [400, 'validation_error', 'user'])
  assert.equal((await ask(app, 'one', { user: 'u1', safety_identifier: 'u2' })).status, 200)
  assert.equal((await ask(app, 'two', { ...without, safety_identifier: 'u2' })).status, 200)
  const key = await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full', default_external_user_id: 'u3' })
  const caller = { ...app.caller, apiKey: key['api_key'] as string }
  const third = await askOpenAi(app, { body: completionBody(app, 'three', without), apiKey: caller.apiKey })
  assert.equal(third.status, 200, third.text)
  const contents = async (user: string, by = app.caller) => (await app.messages(user, by)).map(({ content }) => content)[0]
  assert.deepEqual([await contents('u1'), await contents('u2'), await contents('u3', caller)], ['one', 'two', 'three'])
})

void test('openai.retry-joins: a retry of the client without a key joins the turn of the first try, while it runs and after it', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', ['It ', held, 'rains.'])
  const body = completionBody(app, 'slow', { stream: true })
  const retry = { 'x-stainless-retry-count': '1' }
  const leave = new AbortController()
  const first = await sendOpenAi(app, { body, headers: { 'x-stainless-retry-count': '0' }, signal: leave.signal })
  leave.abort()
  await first.text().catch(() => undefined)
  const joined = await sendOpenAi(app, { body, headers: retry })
  assert.equal(joined.status, 200)
  held.open()
  assert.match(await joined.text(), /"content":"It "[\s\S]*"content":"rains\."[\s\S]*\[DONE\]/)
  const again = await sendOpenAi(app, { body, headers: { 'x-stainless-retry-count': '2' } })
  assert.equal(again.headers.get('x-request-id'), joined.headers.get('x-request-id'))
  await again.text()
  assert.deepEqual([app.model.calls.length, await charges(app)], [1, 1])
  // Another user, another body, and the same request that is not a retry are turns of their own.
  for (const [sent, headers] of [
    [{ ...body, user: 'user-2' }, retry],
    [{ ...body, temperature: 0.5 }, retry],
    [body, { 'x-stainless-retry-count': '0' }],
  ] as const)
    await (await sendOpenAi(app, { body: sent, headers })).text()
  assert.deepEqual([app.model.calls.length, await charges(app)], [4, 4])
  // The newest one is joined, until eleven minutes after its start, and by a second retry for twice as long.
  assert.equal((await ask(app, 'slow', { stream: true }, retry)).headers.get('x-request-id') === joined.headers.get('x-request-id'), false)
  assert.equal(app.model.calls.length, 4)
  const minutes = 60_000
  for (const [later, count, calls] of [
    [10.5 * minutes, 1, 4],
    [10.5 * minutes, 2, 4],
    [0, 1, 5],
    [109 * minutes, 11, 5],
    [2 * minutes, 11, 6],
  ] as const) {
    await app.moveClock(later)
    await ask(app, 'slow', { stream: true }, { 'x-stainless-retry-count': String(count) })
    assert.equal(app.model.calls.length, calls, `retry ${count}, ${later} ms later`)
  }
  await app.verify()
})

void test('openai.retry-joins: a message that was refused does not get the reply of an earlier equal one', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('continue', [held, 'The next part.'])
  const counts: (string | null)[] = []
  const client = openAiClient(app, {
    fetch: (url, init) => {
      const count = new Headers(init?.headers).get('x-stainless-retry-count')
      counts.push(count)
      // Only a retry that joins waits for the first reply.
      if (count !== '0') held.open()
      return fetch(url, init)
    },
  })
  const send = () =>
    client.chat.completions.create({ model: app.caller.agentId, user: 'user-1', messages: [{ role: 'user', content: 'continue' }] })
  const first = send()
  await held.reached
  const second = await send().catch(({ status, code, headers }: APIError) => [status, code, headers?.get('x-should-retry')])
  assert.deepEqual(second, [409, 'conversation_busy', 'false'])
  held.open()
  const { id } = await first
  // Its caller sends it again, as a message of its own.
  assert.notEqual((await send()).id, id)
  assert.deepEqual(counts, ['0', '0', '0'])
  assert.deepEqual([app.model.calls.length, await charges(app)], [2, 2])
})

void test('openai.retry-joins: a refusal may be repeated if there is no earlier equal message, if that is unknown, or if it is stored itself', async () => {
  const turn = (idempotencyKey: string) => ({ requestId: '01890000-0000-7000-8000-000000000001', idempotencyKey })
  const earlier = turn('k')
  const unavailable = (): Promise<never> => Promise.reject(new ApiError('service_unavailable'))
  const looked: number[] = []
  for (const [findNewest, code, shown] of [
    [async () => earlier, 'service_unavailable', 'false'],
    [async () => undefined, 'service_unavailable', null],
    [async () => undefined, 'conversation_busy', 'true'],
    [unavailable, 'service_unavailable', null],
    // Its own turn: the store did not say in time that it is stored.
    [async (ownKey: string) => turn(ownKey), 'service_unavailable', null],
    // No client repeats it.
    [async () => earlier, 'insufficient_balance', null],
  ] as const) {
    let ownKey = ''
    await using layer = await startTestLayer({
      begin({ idempotencyKey }) {
        ownKey = idempotencyKey
        return { kind: 'refused', code }
      },
      resource: {
        findNewest({ withinMs }) {
          looked.push(withinMs)
          return findNewest(ownKey)
        },
      },
    })
    const body = { model: 'agt_door', user: 'u', messages: [{ role: 'user', content: 'hello' }] }
    const sent = {
      method: 'POST',
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    const response = await fetch(`${layer.url}/v1/chat/completions`, sent)
    assert.deepEqual([((await response.json()) as Json)['error'].code, response.headers.get('x-should-retry')], [code, shown])
  }
  // As far back as any retry looks.
  assert.deepEqual(looked, Array<number>(5).fill(110 * 60_000))
})

void test('openai.retry-joins: a retry that joins a turn of another process waits for its reply as long as the turn itself, a stream without a limit', async () => {
  const turn = new ScriptedTurn()
  const { requestId } = turn
  const turns = {
    begin: async () => ({ kind: 'refused', code: 'idempotency_in_progress' }) as const,
    resource: { findNewest: async () => ({ requestId, idempotencyKey: 'k' }), open: async () => ({ turn }) },
  } as unknown as Turns
  const request = {
    id: randomUUID(),
    sent: { bodyDigest: 'd' },
    caller: { apiKey },
    raw: { headers: { 'x-stainless-retry-count': '1' } },
  } as unknown as FastifyRequest
  const joined = async (stream: boolean) => {
    const started = await beginTurn(request, { externalUserId: 'u', message: 'hello', stream }, turns, { answerMs: 20 })
    assert.equal(started.kind, 'running')
    return started as Extract<BeginResult, { kind: 'running' }>
  }
  const [json, stream] = [await joined(false), await joined(true)]
  let end: TurnEnd | undefined
  void json.turn.end.then((known) => (end = known))
  await until('the retry has an answer', () => end !== undefined)
  assert.deepEqual(end, { kind: 'failed', code: 'service_unavailable', state: null })
  const pending = Symbol('pending')
  assert.equal(await Promise.race([stream.turn.end, Promise.resolve(pending)]), pending)
  turn.complete()
  assert.equal((await stream.turn.end).kind, 'completed')
  const later = await joined(false)
  assert.deepEqual([later.turn.requestId, (await later.turn.end).kind], [requestId, 'completed'])
})

void test('openai.retry-joins: a turn that ends while its retry looks for it answers the retry, with JSON and as a stream', async () => {
  for (const stream of [false, true]) {
    await using app = await startTestApp()
    const held = gate()
    app.model.when('slow', [held, 'done'])
    const body = completionBody(app, 'slow', { stream })
    const { read } = app.app.store
    const { findTurnStatus } = read
    // The retry knows that the turn runs, and reads it when it has ended.
    read.findTurnStatus = async (...wanted) => {
      read.findTurnStatus = findTurnStatus
      held.open()
      await first
      return findTurnStatus(...wanted)
    }
    const first = askOpenAi(app, { body })
    await held.reached
    let retry: Answer | undefined
    const sent = askOpenAi(app, { body, headers: { 'x-stainless-retry-count': '1' } })
    // Without an answer it fails when the service ends, after the assertion.
    void sent.then((answer) => (retry = answer)).catch(() => undefined)
    await until('the retry is answered', () => retry !== undefined)
    assert.deepEqual([retry?.status, retry?.text], [200, (await first).text])
    assert.deepEqual([app.model.calls.length, await charges(app)], [1, 1])
  }
})

void test('overload.queue: look-ups for retries do not pile up: what exceeds a limit is refused at once', async () => {
  await using app = await startTestApp()
  const { read } = app.app.store
  const { findNewestTurn } = read
  const held = gate()
  let asked = 0
  read.findNewestTurn = async (...wanted) => {
    asked++
    await held.pass()
    return findNewestTurn(...wanted)
  }
  const retry = (n: number): Promise<Answer> =>
    askOpenAi(app, { body: completionBody(app, `message ${n}`, { user: `user-${n}` }), headers: { 'x-stainless-retry-count': '1' } })
  let refused = 0
  const sent = Array.from({ length: 30 }, async (_, n) => {
    const answer = await retry(n)
    if (answer.status === 503) refused++
    return answer
  })
  // Of 16 places, the last ones are for other keys.
  const waiting = 14
  await until('some wait and the others are refused', () => asked > 0 && waiting + refused === sent.length)
  assert.ok(asked <= 2, `${asked} look-ups at the same time`)
  held.open()
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 200).length, waiting)
  assert.equal(app.model.calls.length, waiting)
})

void test('openai.retry-joins: a retry joins nothing of another key, and no Idempotency-Key of a caller', async () => {
  await using app = await startTestApp()
  const body = JSON.stringify(completionBody(app, 'hello'))
  const other = await app.made('POST', `/agents/${app.caller.agentId}/keys`, { permission: 'full' })
  await askOpenAi(app, { body })
  const [row] = await app.query('select idempotency_key from turns')
  const key = String(row!['idempotency_key'])
  assert.match(key, /^\u0001[\w-]{43}\.[0-9a-f-]{36}$/)
  await askOpenAi(app, { body, apiKey: other['api_key'], headers: { 'x-stainless-retry-count': '1' } })
  assert.equal(app.model.calls.length, 2)
  // The same text without its first character, which no header can carry.
  await askOpenAi(app, { body, headers: { 'idempotency-key': key.slice(1) } })
  assert.equal(app.model.calls.length, 3)
})

void test('openai.should-retry: conflicts must not be retried, busy and in-progress answers may', async () => {
  await using app = await startTestApp()
  const held = gate()
  app.model.when('slow', [held, 'done'])
  const slow = ask(app, 'slow', {}, { 'idempotency-key': 'k' })
  await held.reached
  const shown = ({ status, json, headers }: Awaited<typeof slow>) => [
    status,
    json['error'].code,
    headers.get('x-should-retry'),
    headers.get('retry-after'),
  ]
  assert.deepEqual(shown(await ask(app, 'slow', {}, { 'idempotency-key': 'k' })), [409, 'idempotency_in_progress', 'true', '2'])
  assert.deepEqual(shown(await ask(app, 'other', {}, { 'idempotency-key': 'k' })), [409, 'idempotency_conflict', 'false', null])
  assert.deepEqual(shown(await ask(app, 'other')), [409, 'conversation_busy', 'true', '2'])
  const turn = (await app.made('GET', '/turns?limit=1'))['data'][0]
  await app.made('POST', `/turns/${turn.request_id}/cancel`)
  assert.deepEqual(shown(await slow), [409, 'turn_cancelled', 'false', null])
  held.open()
  await pass(10)
  assert.deepEqual(shown(await ask(app, 'slow', {}, { 'idempotency-key': 'k' })), [409, 'turn_cancelled', 'false', null])
})
