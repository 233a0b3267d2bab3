/** The OpenAI Chat Completions API over real HTTP: what is sent, and what a complete response may look like. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiKey, startAsker } from '../support/ask-model.ts'
import { completion, gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'
import { plainTokens } from '../support/token-kinds.ts'

const asker = startAsker()
const { ask, answer, failureOf } = asker

// Requests

test("openai-compatible: a request carries model, messages, tools and limits in the provider's format, and requests a stream with usage", async () => {
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
  const { body, headers, path } = asker.server.calls.at(-1)!
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

test('openai-compatible: an empty key sends no Authorization, and a query of the base URL is kept', async () => {
  await ask({ provider: { apiKey: '', baseUrl: `${asker.server.baseUrl}/?api-version=7` } })
  const { body, headers, path } = asker.server.calls.at(-1)!
  assert.equal(headers.authorization, undefined)
  assert.equal(path, '/v1/chat/completions?api-version=7')
  assert.deepEqual([body.max_tokens, 'max_completion_tokens' in body, 'temperature' in body, 'tools' in body], [100, false, false, false])
})

// Responses

test('openai-compatible: text is passed on piece by piece as it arrives, and the step has the whole with usage', async () => {
  const held = gate()
  asker.server.script(['Hel', held, 'lo'])
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
  assert.deepEqual(await step, { text: 'Hello', toolCalls: [], finishReason: 'stop', usage: plainTokens(2, 2) })
})

test('fault.model-stream-malformed: one byte per chunk, split UTF-8, CRLF, CR, comments, a BOM and multi-line data are parsed correctly', async () => {
  const delta = (content: string): string => JSON.stringify({ choices: [{ index: 0, delta: { content } }] })
  const [head, tail] = delta('ß').split('"ß"')
  const raw = `\uFEFF: hello\r\nevent: x\r\ndata: ${delta('Grüße 😀')}\r\n\r\ndata:${delta(' ja')}\r\r: ping\n\ndata: ${head}\ndata: "ß"\ndata: ${tail}\n\n`
  const step = await answer({ parts: [{ raw }, '!'], bytesEach: 1 })
  assert.deepEqual(step.pieces, ['Grüße 😀', ' ja', 'ß', '!'])
})

test('fault.model-text-hostile: NUL, lone surrogates, U+2028 and framing in the text are passed on as the model sent them', async () => {
  const parts = ['\0', '\ud83d', '\ude00', '\u2028', '\n\ndata: [DONE]\n\n']
  assert.deepEqual((await answer(parts)).pieces, parts)
})

test('tools.private: reasoning, under any of its names, never becomes text', async () => {
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

test('fault.model-reply-empty: only reasoning, or nothing before a finish, is a completion without text', async () => {
  assert.equal((await answer([{ reasoning: 'hmm' }])).text, '')
  assert.deepEqual(await answer([]), {
    text: '',
    pieces: [],
    toolCalls: [],
    finishReason: 'stop',
    usage: plainTokens(2, 0),
  })
})

test('openai-compatible: tool-call deltas are merged by index, interleaved or not', async () => {
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

test('openai-compatible: tool calls without index, with one index for all, without ids, with objects as arguments or a plain stop are told apart', async () => {
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
    { id: 'call00000', name: 'x', arguments: '{"a":1}' },
    { id: 'call00001', name: 'y', arguments: '{"b":2}' },
  ])
})

test('openai-compatible: a tool call that is truncated by the output limit is returned as it is, with the finish reason length', async () => {
  const step = await answer([{ toolCall: { id: 'a', name: 'weather', arguments: '{"ci' } }, { finish: 'length' }])
  assert.equal(step.finishReason, 'length')
  assert.deepEqual(step.toolCalls, [{ id: 'a', name: 'weather', arguments: '{"ci' }])
})

test('openai-compatible: finish reasons are mapped, and an unknown one is still a completion', async () => {
  for (const [said, read] of Object.entries({
    stop: 'stop',
    length: 'length',
    tool_calls: 'tool_calls',
    content_filter: 'filtered',
    eos: 'other',
  }))
    assert.equal((await answer(['x', { finish: said }])).finishReason, read)
})

test('billing.unpaid: the bytes of text, reasoning and tool calls are reported, each once, in whatever field they are', async () => {
  const call = { index: 0, id: 'c1', function: { name: 'look', arguments: '{"a":1}' } }
  const details = [
    { type: 'reasoning.text', text: 'hmm' },
    { type: 'reasoning.encrypted', data: 'x'.repeat(1000) },
  ]
  for (const [delta, expected] of [
    [{ content: 'Grüße' }, 7],
    [{ content: '<think>hm</think>' }, 17],
    [{ content: '   ' }, 3],
    [{ reasoning_content: 'hmm', reasoning: 'hmm', reasoning_details: details }, 3],
    [
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hmm' }] },
          { type: 'text', text: 'Hi' },
        ],
      },
      5,
    ],
    [{ tool_calls: [call] }, 11],
    [{ content: '', reasoning: null, reasoning_details: [] }, 0],
  ] as const) {
    for (const times of [1, 3]) {
      let bytes = 0
      const chunk = { event: { choices: [{ index: 0, delta }] } }
      asker.server.script([...Array.from({ length: times }, () => chunk), 'x'])
      await ask({ onGenerated: (more) => void (bytes += more) })
      assert.equal(bytes, times * expected + 1, JSON.stringify(delta))
    }
  }
})

test('billing.usage-missing: usage counts only as two whole numbers; everything else is undefined, never zero', async () => {
  const usage = async (value: unknown): Promise<unknown> => (await answer(['x', { usage: value }])).usage
  assert.deepEqual(await usage({ prompt_tokens: 7, completion_tokens: 0 }), plainTokens(7, 0))
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

test('openai-compatible: usage is read with the finish, after it, or with every chunk, where the last one counts', async () => {
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

test('openai-compatible: a server that ignores stream: true is read from its whole JSON, including tool calls', async () => {
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
    usage: plainTokens(3, 4),
  })
  const call = { id: 'a', type: 'function', function: { name: 'x', arguments: '{}' } }
  const tools = await answer({ json: completion({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }) })
  assert.deepEqual(tools.toolCalls, [{ id: 'a', name: 'x', arguments: '{}' }])
  for (const json of [{}, [], { choices: [] }, { error: { message: 'no' } }, completion({}, { finish_reason: 'error' })])
    assert.equal((await failureOf({ json })).kind, 'unavailable', JSON.stringify(json))
})

test('openai-compatible: chunks without choices, empty data and unknown fields are ignored', async () => {
  const step = await answer([
    { raw: 'data:\n\ndata: {"choices":null}\n\ndata: {"type":"ping"}\n\n' },
    { event: { choices: [], prompt_filter_results: [] } },
    'x',
  ])
  assert.equal(step.text, 'x')
})
