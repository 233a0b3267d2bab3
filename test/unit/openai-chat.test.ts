/** The OpenAI Chat Completions dialect over real HTTP, against our scripted server. Faults, rows 34–41, 43 and 44, as far as one call goes. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { ModelError } from '../../src/agent/model.ts'
import type { ModelRequest, ModelStep } from '../../src/agent/model.ts'
import { createModels } from '../../src/agent/models.ts'
import type { Models, ModelsOptions, Provider } from '../../src/agent/models.ts'
import { largestAnswer } from '../../src/agent/models/chat-answer.ts'
import { defaultDeadlines } from '../../src/agent/models/exchange.ts'
import { completion, cut, gate, startModelServer } from '../support/model-server.ts'
import type { ModelServer, Part, Script } from '../support/model-server.ts'

let server: ModelServer
let models: Models
before(async () => {
  server = await startModelServer()
  models = createModels()
})
after(async () => {
  await models.close()
  await server.close()
})

const apiKey = 'sk-canary-4711'
const request: ModelRequest = {
  modelId: 'some-model',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [],
  maxOutputTokens: 100,
  temperature: null,
  passages: [],
}

type Asking = {
  models?: Models
  provider?: Partial<Provider>
  request?: Partial<ModelRequest>
  signal?: AbortSignal
  onText?: (text: string) => void
}
function ask({ signal = new AbortController().signal, onText = () => undefined, ...asking }: Asking = {}): Promise<ModelStep> {
  const model = (asking.models ?? models).open({ kind: 'openai-compatible', baseUrl: server.baseUrl, apiKey, ...asking.provider })
  return model.generate({ ...request, ...asking.request }, { signal, onText })
}
/** Scripts one reply and answers what became of it. */
async function answer(script: Script): Promise<ModelStep & { pieces: string[] }> {
  server.script(script)
  const pieces: string[] = []
  const step = await ask({ onText: (text) => pieces.push(text) })
  assert.equal(pieces.join(''), step.text)
  return { ...step, pieces }
}
/** Asks and answers the ModelError it ends in, and the text that left before. */
async function failure(asking: Asking = {}): Promise<ModelError & { text: string }> {
  let text = ''
  const onText = (piece: string): void => {
    text += piece
    asking.onText?.(piece)
  }
  try {
    await ask({ ...asking, onText })
  } catch (error) {
    assert(error instanceof ModelError, String(error))
    assert.doesNotMatch(error.message, /canary/)
    return Object.assign(error, { text })
  }
  assert.fail('it answered')
}
async function failureOf(script: Script): Promise<ModelError & { text: string }> {
  server.script(script)
  return failure()
}
/** Runs with models of their own, for deadlines a test can reach. */
async function withModels<Result>(options: ModelsOptions, run: (models: Models) => Promise<Result>): Promise<Result> {
  const own = createModels(options)
  try {
    return await run(own)
  } finally {
    await own.close()
  }
}

// What is asked

test('a request carries model, messages, tools and caps in the dialect, and asks for a stream with usage', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const toolCalls = [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }]
  await ask({
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Rain? \ud83d' },
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: 'call_1', content: 'rain' },
        { role: 'assistant', content: 'Yes.' },
      ],
      tools: [{ name: 'weather', description: 'Tells it', parameters }],
      temperature: 0,
    },
  })
  const { body, headers, path } = server.calls.at(-1)!
  assert.deepEqual(body, {
    model: 'some-model',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Rain? \ud83d' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      { role: 'assistant', content: 'Yes.' },
    ],
    tools: [{ type: 'function', function: { name: 'weather', description: 'Tells it', parameters } }],
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 100,
    temperature: 0,
  })
  assert.equal(path, '/v1/chat/completions')
  assert.equal(headers.authorization, `Bearer ${apiKey}`)
})

test('an empty key sends no Authorization, and the kind openai caps by max_completion_tokens', async () => {
  await ask({ provider: { kind: 'openai', apiKey: '', baseUrl: `${server.baseUrl}/?api-version=7` } })
  const { body, headers, path } = server.calls.at(-1)!
  assert.equal(headers.authorization, undefined)
  assert.equal(path, '/v1/chat/completions?api-version=7')
  assert.deepEqual([body.max_completion_tokens, 'max_tokens' in body, 'temperature' in body, 'tools' in body], [100, false, false, false])
})

test('a provider that cannot be called is refused before any call', () => {
  const open = (provider: Provider) => () => models.open(provider)
  const refused = { kind: 'refused' }
  assert.throws(open({ kind: 'openai-compatible', baseUrl: null, apiKey }), refused)
  assert.throws(open({ kind: 'openai-compatible', baseUrl: 'localhost:11434', apiKey }), refused)
  assert.throws(open({ kind: 'openai', baseUrl: 'file:///etc/passwd', apiKey }), refused)
  assert.throws(open({ kind: 'of tomorrow', baseUrl: null, apiKey }), refused)
})

test('turn.states: a key that cannot stand in a header is refused and not shown', async () => {
  assert.equal((await failure({ provider: { apiKey: 'sk-canary\n' } })).kind, 'refused')
})

// Answers

test('text leaves piece by piece as it comes, and the step has the whole with usage', async () => {
  const held = gate()
  server.script(['Hel', held, 'lo'])
  const pieces: string[] = []
  const first = Promise.withResolvers<void>()
  const step = ask({
    onText: (text) => {
      pieces.push(text)
      first.resolve()
    },
  })
  await first.promise
  assert.deepEqual(pieces, ['Hel'])
  held.open()
  assert.deepEqual(await step, { text: 'Hello', toolCalls: [], finishReason: 'stop', usage: { promptTokens: 2, completionTokens: 2 } })
})

test('faults 38: one byte a chunk, split UTF-8, CRLF, CR, comments, a BOM and data lines of one event are read as they were meant', async () => {
  const delta = (content: string): string => JSON.stringify({ choices: [{ index: 0, delta: { content } }] })
  const [head, tail] = delta('ß').split('"ß"')
  const raw = `\uFEFF: hello\r\nevent: x\r\ndata: ${delta('Grüße 😀')}\r\n\r\ndata:${delta(' ja')}\r\r: ping\n\ndata: ${head}\ndata: "ß"\ndata: ${tail}\n\n`
  const step = await answer({ parts: [{ raw }, '!'], bytesEach: 1 })
  assert.deepEqual(step.pieces, ['Grüße 😀', ' ja', 'ß', '!'])
})

test('faults 44: NUL, lone surrogates, U+2028 and framing in the text come through as the model said them', async () => {
  const parts = ['\0', '\ud83d', '\ude00', '\u2028', '\n\ndata: [DONE]\n\n']
  assert.deepEqual((await answer(parts)).pieces, parts)
})

test('spec 4.2.5: reasoning, under any of its names, never becomes text', async () => {
  const other = (delta: object): Part => ({ event: { choices: [{ index: 0, delta }] } })
  const step = await answer([
    { reasoning: 'hmm' },
    other({ content: '', thinking: 'a', reasoning_details: [{ text: 'b' }] }),
    other({
      content: [
        { type: 'thinking', text: 'c' },
        { type: 'text', text: 'Yes' },
      ],
    }),
    '.',
  ])
  assert.equal(step.text, 'Yes.')
})

test('faults 43: only reasoning, or nothing at all before a finish, is an answer without text', async () => {
  assert.equal((await answer([{ reasoning: 'hmm' }])).text, '')
  assert.deepEqual(await answer([]), {
    text: '',
    pieces: [],
    toolCalls: [],
    finishReason: 'stop',
    usage: { promptTokens: 2, completionTokens: 0 },
  })
})

test('tool-call deltas are put together by index, interleaved or not', async () => {
  const step = await answer([
    'Let me see.',
    { toolCall: { index: 0, id: 'a', name: 'weather', arguments: '{"ci' } },
    { toolCall: { index: 1, id: 'b', name: 'time', arguments: '' } },
    { toolCall: { index: 0, arguments: 'ty":"Oslo"}' } },
    { toolCall: { index: 1, arguments: '{}' } },
  ])
  assert.equal(step.text, 'Let me see.')
  assert.equal(step.finishReason, 'tool_calls')
  assert.deepEqual(step.toolCalls, [
    { id: 'a', name: 'weather', arguments: '{"city":"Oslo"}' },
    { id: 'b', name: 'time', arguments: '{}' },
  ])
})

test('tool calls without index, with one index for all, without ids, with objects as arguments or a plain stop are told apart', async () => {
  const calls = (tool_calls: unknown): Part => ({ event: { choices: [{ index: 0, delta: { tool_calls } }] } })
  const f = (name: string, args: unknown): object => ({ function: { name, arguments: args } })
  const sameIndex = await answer([
    calls([{ index: 0, id: 'a', ...f('x', '{}') }]),
    calls([{ index: 0, id: 'b', ...f('x', '{}') }]),
    { finish: 'stop' },
  ])
  assert.deepEqual(
    sameIndex.toolCalls.map(({ id }) => id),
    ['a', 'b'],
  )
  assert.equal(sameIndex.finishReason, 'tool_calls')
  const bare = await answer([calls([f('x', { a: 1 }), f('y', '{"b"')]), calls([{ function: { arguments: ':2}' } }])])
  assert.deepEqual(bare.toolCalls, [
    { id: 'call_0', name: 'x', arguments: '{"a":1}' },
    { id: 'call_1', name: 'y', arguments: '{"b":2}' },
  ])
})

test('a tool call cut by the cap of output comes back as it is, with the finish length', async () => {
  const step = await answer([{ toolCall: { id: 'a', name: 'weather', arguments: '{"ci' } }, { finish: 'length' }])
  assert.equal(step.finishReason, 'length')
  assert.deepEqual(step.toolCalls, [{ id: 'a', name: 'weather', arguments: '{"ci' }])
})

test('finish reasons are mapped, and an unknown one is an answer all the same', async () => {
  for (const [said, read] of Object.entries({
    stop: 'stop',
    length: 'length',
    tool_calls: 'tool_calls',
    content_filter: 'other',
    eos: 'other',
  }))
    assert.equal((await answer(['x', { finish: said }])).finishReason, read)
})

test('billing.usage-missing: usage counts only as two whole numbers; everything else is undefined, never zero', async () => {
  const usage = async (value: unknown): Promise<unknown> => (await answer(['x', { usage: value }])).usage
  assert.deepEqual(await usage({ prompt_tokens: 7, completion_tokens: 0 }), { promptTokens: 7, completionTokens: 0 })
  for (const value of [
    null,
    {},
    [],
    'many',
    { prompt_tokens: 7 },
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: 7, completion_tokens: 1.5 },
    { prompt_tokens: 1e300, completion_tokens: 1 },
    { prompt_tokens: '7', completion_tokens: 1 },
    { prompt_tokens: 7, completion_tokens: null },
    { prompt_tokens: 0, completion_tokens: 0 },
  ])
    assert.equal(await usage(value), undefined, JSON.stringify(value))
})

test('usage is read with the finish, after it, or with every chunk, where the last one counts', async () => {
  const usage = (prompt_tokens: number): object => ({ usage: { prompt_tokens, completion_tokens: 1 } })
  const finish = (rest: object): Part => ({ event: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...rest } })
  const withFinish = await answer(['x', finish(usage(5)), { finish: null }, { usage: null }])
  assert.equal(withFinish.usage?.promptTokens, 5)
  const everywhere = await answer([
    { event: { choices: [{ delta: { content: 'x' } }], ...usage(1) } },
    finish({ usage: null }),
    { event: usage(9) },
    { usage: null },
  ])
  assert.equal(everywhere.usage?.promptTokens, 9)
})

test('a server that ignores stream: true is answered from its whole JSON, tool calls too', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  const text = await answer({
    json: completion({ content: 'Hello' }, { usage }),
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
  assert.deepEqual(text, {
    text: 'Hello',
    pieces: ['Hello'],
    toolCalls: [],
    finishReason: 'stop',
    usage: { promptTokens: 3, completionTokens: 4 },
  })
  const call = { id: 'a', type: 'function', function: { name: 'x', arguments: '{}' } }
  const tools = await answer({ json: completion({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }) })
  assert.deepEqual(tools.toolCalls, [{ id: 'a', name: 'x', arguments: '{}' }])
  for (const json of [{}, [], { choices: [] }, { error: { message: 'no' } }, completion({}, { finish_reason: 'error' })])
    assert.equal((await failureOf({ json })).kind, 'unavailable', JSON.stringify(json))
})

test('chunks without choices, empty data and unknown fields are passed over', async () => {
  const step = await answer([
    { raw: 'data:\n\ndata: {"choices":null}\n\ndata: {"type":"ping"}\n\n' },
    { event: { choices: [], prompt_filter_results: [] } },
    'x',
  ])
  assert.equal(step.text, 'x')
})

// Complete or cut

test('faults 39: a stream cut by FIN, by RST or in good order before its finish is never an answer', async () => {
  for (const how of ['end', 'fin', 'rst'] as const) {
    const held = gate()
    server.script(['Hel', held, cut(how)])
    const error = await failure({ onText: () => held.open() })
    assert.equal(error.kind, 'unavailable', how)
    assert.equal(error.text, 'Hel')
    assert.equal((await failureOf([cut(how)])).kind, 'unavailable', `${how} at once`)
  }
  assert.equal((await failureOf([{ raw: 'data: [DONE]\n\n' }, cut('end')])).kind, 'unavailable')
})

test('faults 39: a whole JSON that is cut is no answer either', async () => {
  const json = JSON.stringify(completion({ content: 'Hello' }))
  const error = await failureOf({ parts: [{ raw: json.slice(0, -1) }, cut('end')], headers: { 'content-type': 'application/json' } })
  assert.equal(error.kind, 'unavailable')
})

test('a finish completes the answer, whether [DONE], usage or a cut follows; so does [DONE] after text', async () => {
  for (const how of ['end', 'fin', 'rst'] as const) {
    const held = gate()
    const finish: Part = { event: { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] } }
    server.script([finish, held, cut(how)])
    const step = await ask({ onText: () => setImmediate(() => held.open()) })
    assert.deepEqual([step.text, step.finishReason, step.usage], ['x', 'stop', undefined], how)
  }
  const done = await answer(['x', { finish: null }, { usage: null }])
  assert.deepEqual([done.text, done.finishReason], ['x', 'other'])
})

test('[DONE] answers at once, though the server never ends the body; its connection is closed after a while', async () => {
  await withModels({ deadlines: { ...defaultDeadlines, tailMs: 30 } }, async (models) => {
    const never = gate()
    server.script([{ raw: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n' }, never])
    const call = server.nextCall()
    assert.equal((await ask({ models })).text, 'x')
    assert.equal(await (await call).ended, 'aborted')
  })
})

test('faults 40: an error in the stream is unavailable, before and after text, and the key it repeats is not shown', async () => {
  for (const event of [
    { error: { message: `bad key ${apiKey}`, code: 401 } },
    { error: 'overloaded' },
    { object: 'error', message: 'overloaded', code: 500 },
    { choices: [{ delta: {}, finish_reason: 'error' }] },
  ]) {
    assert.equal((await failureOf([{ event }])).kind, 'unavailable')
    const later = await failureOf(['Hel', { event }, 'lo'])
    assert.deepEqual([later.kind, later.text], ['unavailable', 'Hel'])
  }
})

test('faults 38: broken JSON and JSON of another shape are unavailable, and the text in it is not repeated', async () => {
  for (const raw of [
    '{"choices":[{"delta":{"content":"canary',
    '{canary}',
    'null',
    '7',
    '"canary"',
    '[]',
    '{"choices":7}',
    '{"choices":[7]}',
  ]) {
    const error = await failureOf([{ raw: `data: ${raw}\n\n` }])
    assert.equal(error.kind, 'unavailable', raw)
  }
  assert.equal((await failureOf([{ event: { choices: [{ delta: { tool_calls: ['x'] } }] } }])).kind, 'unavailable')
})

test('faults 38: a line over 1 MiB and an answer over 8 MiB are unavailable', async () => {
  const mebibyte = 'x'.repeat(1024 * 1024)
  assert.equal((await failureOf([mebibyte])).kind, 'unavailable')
  const half = mebibyte.slice(0, 512 * 1024)
  const error = await failureOf(Array.from({ length: 17 }, () => half))
  assert.equal(error.text.length, largestAnswer)
  assert.match(error.message, /larger than/)
  assert.match((await failureOf({ json: completion({ content: mebibyte.repeat(9) }) })).message, /larger than/)
})

// Statuses

test('faults 34: 408, 429 and 5xx are unavailable, with Retry-After in seconds or as a date', async () => {
  const retryAfter = async (headers: Record<string, string>): Promise<number | undefined> =>
    (await failureOf({ status: 429, headers })).retryAfterMs
  for (const status of [408, 429, 500, 502, 503, 529]) assert.equal((await failureOf({ status })).kind, 'unavailable')
  assert.equal(await retryAfter({}), undefined)
  assert.equal(await retryAfter({ 'retry-after': '7' }), 7000)
  assert.equal(await retryAfter({ 'retry-after': '0' }), 0)
  assert.equal(await retryAfter({ 'retry-after': '9'.repeat(400) }), 86_400_000)
  assert.equal(await retryAfter({ 'retry-after': 'soon' }), undefined)
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  assert.equal(await retryAfter({ date, 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }), 30_000)
  assert.equal(await retryAfter({ date, 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }), 0)
})

test('faults 35: every other 4xx and a redirect are refused; a 200 of another type and another 2xx are unavailable', async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422]) assert.equal((await failureOf({ status })).kind, 'refused')
  assert.equal((await failureOf({ status: 307, headers: { location: `${server.baseUrl}/elsewhere` } })).kind, 'refused')
  const page = await failureOf({ status: 200, body: '<html>', headers: { 'content-type': 'text/html' } })
  assert.equal(page.kind, 'unavailable')
  assert.match(page.message, /content type text\/html/)
  assert.equal((await failureOf({ status: 204, body: '' })).kind, 'unavailable')
})

test("an error's body is quoted in short for the operator, on one line and without the key", async () => {
  const error = await failureOf({
    status: 401,
    body: `{"error":\n{"message":"Incorrect API key: ${apiKey}\u001b[31m"}}${'x'.repeat(100_000)}`,
  })
  assert.match(error.message, /^the model's server answered 401: \{"error": \{"message":"Incorrect API key: \[api key\] \[31m"\}\}x+$/)
  assert(error.message.length < 600)
})

test('an error body that never ends is not waited for once enough of it was read', async () => {
  const flood = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write(`HTTP/1.1 500 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(5000)}`)
  })
  await listening(flood, async (port) => {
    assert.match((await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })).message, /answered 500: x+$/)
  })
})

test('a status stands though its body is cut', async () => {
  const cutting = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nhalf')
  })
  await listening(cutting, async (port) => {
    const error = await failure({ provider: { baseUrl: `http://127.0.0.1:${port}` } })
    assert.deepEqual([error.kind, error.message], ['refused', "the model's server answered 401: half"])
  })
})

// Deadlines, the network, the signal

test('faults 36, 72: a refused connection and a name that does not resolve are unavailable', async () => {
  const closed = await listening(createServer(), async (port) => port)
  for (const baseUrl of [`http://127.0.0.1:${closed}/v1`, 'http://name.invalid/v1'])
    assert.equal((await failure({ provider: { baseUrl } })).kind, 'unavailable')
})

test('faults 36: the connect deadline includes TLS', async () => {
  const sockets: Socket[] = []
  const mute = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
  await listening(mute, (port) =>
    withModels({ connectMs: 50 }, async (models) => {
      const error = await failure({ models, provider: { baseUrl: `https://127.0.0.1:${port}` } })
      assert.equal(error.kind, 'unavailable')
      assert.match(error.message, /connect timeout/i)
    }),
  )
})

test('faults 36: headers that never come, comments and empty deltas do not pass the first-token deadline', async () => {
  const deadlines = { firstTokenMs: 50, idleMs: 30_000, tailMs: 30_000 }
  await withModels({ deadlines }, async (models) => {
    const mute = createServer((socket) => void socket.on('error', () => undefined))
    await listening(mute, async (port) =>
      assert.match((await failure({ models, provider: { baseUrl: `http://127.0.0.1:${port}` } })).message, /silent for 50 ms/),
    )
    const call = server.nextCall()
    server.script([{ raw: ': ping\n\n' }, { event: { choices: [{ delta: { role: 'assistant', content: '' } }] } }, gate()])
    assert.match((await failure({ models })).message, /silent for 50 ms/)
    assert.equal(await (await call).ended, 'aborted')
  })
})

test('faults 37: silence after the first piece, be it reasoning or a tool call, ends the call by the idle deadline', async () => {
  await withModels({ deadlines: { firstTokenMs: 30_000, idleMs: 50, tailMs: 30_000 } }, async (models) => {
    for (const part of ['Hel', { reasoning: 'hm' }, { toolCall: { id: 'a', name: 'x' } }] satisfies Part[]) {
      const call = server.nextCall()
      server.script([part, gate()])
      const error = await failure({ models })
      assert.equal(error.kind, 'unavailable')
      assert.match(error.message, /silent for 50 ms/)
      assert.equal(await (await call).ended, 'aborted')
    }
  })
})

test('faults 36, 37: by default the first piece may take 60 s, and every piece after it 30 s more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await withModels({}, async (models) => {
    const gates = [gate(), gate(), gate(), gate()]
    server.script([gates[0]!, 'a', gates[1]!, 'b', gates[2]!, 'c', gates[3]!])
    let pieces = 0
    const error = failure({ models, onText: () => void pieces++ })
    for (const [n, held] of gates.entries()) {
      await held.reached
      while (pieces < n) await new Promise((resolve) => setImmediate(resolve))
      t.mock.timers.tick(n === 0 ? 59_999 : 29_999)
      if (n < 3) held.open()
    }
    t.mock.timers.tick(1)
    assert.equal((await error).text, 'abc')
    assert.match((await error).message, /silent for 30000 ms/)
  })
})

test('silence after the finish completes the answer without usage', async () => {
  await withModels({ deadlines: { ...defaultDeadlines, tailMs: 50 } }, async (models) => {
    server.script([{ event: { choices: [{ delta: { content: 'x' }, finish_reason: 'stop' }] } }, gate()])
    assert.equal((await ask({ models })).usage, undefined)
  })
})

test('the signal ends a call at once with its reason and destroys its socket', async () => {
  const reason = new Error('the turn is over')
  for (const parts of [[gate()], ['Hel', gate()]]) {
    const stop = new AbortController()
    server.script(parts)
    const next = server.nextCall()
    const step = ask({ signal: stop.signal })
    const call = await next
    stop.abort(reason)
    await assert.rejects(step, (error) => error === reason)
    assert.equal(await call.ended, 'aborted')
  }
  const calls = server.calls.length
  await assert.rejects(ask({ signal: AbortSignal.abort(reason) }), (error) => error === reason)
  assert.equal(server.calls.length, calls)
})

test('the signal ends a call that is still connecting, and nothing is sent once it is connected', async () => {
  await withModels({}, async (models) => {
    const stop = new AbortController()
    const reason = new Error('the turn is over')
    const step = ask({ models, signal: stop.signal, request: { messages: [{ role: 'user', content: 'never sent' }] } })
    stop.abort(reason)
    await assert.rejects(step, (error) => error === reason)
    await ask({ models })
    assert.equal(server.calls.at(-1)?.lastUserMessage, 'Hello')
    assert(server.calls.every(({ lastUserMessage }) => lastUserMessage !== 'never sent'))
  })
})

test('an error thrown by the listener of text ends the call with that error', async () => {
  const fault = new TypeError('ours')
  const onText = (): never => {
    throw fault
  }
  await assert.rejects(ask({ onText }), (error) => error === fault)
})

test('close ends running calls as unavailable', async () => {
  const own = createModels()
  server.script(['Hel', gate()])
  const error = await failure({ models: own, onText: () => void own.close() })
  assert.equal(error.kind, 'unavailable')
})

test('calls one after another use connections again, and a hundred at once do not wait for each other', async () => {
  await withModels({}, async (models) => {
    // the answer does not wait for the end of the body, so the next call may find the first connection still busy
    for (let n = 0; n < 6; n++) await ask({ models })
    assert(new Set(server.calls.slice(-6).map(({ callerPort }) => callerPort)).size <= 2)

    const gates = Array.from({ length: 100 }, () => gate())
    server.script(...gates.map((held) => [held, 'x']))
    const calls = server.calls.length
    const steps = gates.map(() => ask({ models }))
    await server.waitForCalls(calls + 100)
    for (const held of gates) held.open()
    assert((await Promise.all(steps)).every(({ text }) => text === 'x'))
  })
})

async function listening<Result>(tcp: ReturnType<typeof createServer>, run: (port: number) => Promise<Result>): Promise<Result> {
  const sockets = new Set<Socket>()
  tcp.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  try {
    return await run((tcp.address() as AddressInfo).port)
  } finally {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => tcp.close(resolve))
  }
}
