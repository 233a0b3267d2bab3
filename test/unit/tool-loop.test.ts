/**
 * Steps with tools in the four provider APIs, over real HTTP against scripted servers: concurrent calls, calls in pieces, and what a
 * provider needs back between two steps is sent back unchanged, also after it was stored.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxContinuation } from '../../src/agent/models/model.ts'
import type { ModelRequest, ModelStep, PromptMessage } from '../../src/agent/models/model.ts'
import { startAsker } from '../support/ask-model.ts'
import { startProviderAsker } from '../support/ask-provider.ts'
import type { HostedKind } from '../support/provider-dialects.ts'
import type { ProviderReply } from '../support/provider-server.ts'

const hosted = startProviderAsker()
const chat = startAsker()

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const tools = [
  { name: 'weather', description: 'Tells the weather', parameters },
  { name: 'time', description: 'Tells the time', parameters },
]
const oslo = { id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }
const rome = { id: 'call_2', name: 'time', arguments: '{"city":"Rome"}' }
const bonn = { id: 'call_3', name: 'weather', arguments: '{"city":"Bonn"}' }

/** What the provider sent with each step; base64 and not, so that it cannot have been decoded. */
const seals = ['gAAAA+/=="first"', 'gAAAA+/=="zweite ß😀"']

/** As the loop stores a step: through JSON, and with the results of its calls. */
function afterwards(step: ModelStep): PromptMessage[] {
  const { text, toolCalls, continuation } = JSON.parse(JSON.stringify(step)) as ModelStep
  return [
    { role: 'assistant', content: text, toolCalls, continuation },
    ...toolCalls.map((call): PromptMessage => ({ role: 'tool', toolCallId: call.id, content: `result of ${call.id}` })),
  ]
}

/** Two steps with calls and one with text; returns the body of the third request. */
async function threeRounds(
  ask: (request: Partial<ModelRequest>) => Promise<ModelStep>,
  bodyOfLast: () => Record<string, any>,
  modelId: string,
): Promise<Record<string, any>> {
  const messages: PromptMessage[] = [{ role: 'user', content: 'Rain?' }]
  for (const calls of [[oslo, rome], [bonn]]) {
    const step = await ask({ messages, tools, modelId })
    assert.deepEqual([step.finishReason, step.toolCalls], ['tool_calls', calls])
    messages.push(...afterwards(step))
  }
  assert.equal((await ask({ messages, tools, modelId })).text, 'It rains.')
  return bodyOfLast()
}

const hostedRounds = (first: ProviderReply, second: ProviderReply) => (kind: HostedKind, modelId: string) => {
  hosted.server.script(first, second, ['It rains.'])
  return threeRounds(
    (request) => hosted.ask(kind, { request }),
    () => hosted.server.calls.at(-1)!.body,
    modelId,
  )
}

test('a loop with openai: encrypted reasoning is sent back before its calls, in every further step', async () => {
  const rounds = hostedRounds(
    [{ reasoning: 'They ask.', seal: seals[0] }, 'Let me look.', { toolCall: oslo }, { toolCall: rome }],
    [{ reasoning: '', seal: seals[1] }, { toolCall: bonn }],
  )
  const body = await rounds('openai', 'gpt-5.4-mini')
  assert.deepEqual([body['store'], body['include']], [false, ['reasoning.encrypted_content']])
  const output = (id: string): object => ({ type: 'function_call_output', call_id: id, output: `result of ${id}` })
  const call = ({ id, name, arguments: args }: typeof oslo): object => ({ type: 'function_call', call_id: id, name, arguments: args })
  assert.deepEqual(body['input'].slice(1), [
    { type: 'reasoning', id: 'rs_0', encrypted_content: seals[0], summary: [{ type: 'summary_text', text: 'They ask.' }] },
    { role: 'assistant', content: 'Let me look.' },
    call(oslo),
    call(rome),
    output('call_1'),
    output('call_2'),
    { type: 'reasoning', id: 'rs_0', encrypted_content: seals[1], summary: [] },
    call(bonn),
    output('call_3'),
  ])
})

test('a loop with anthropic: thinking is sent back with its signature, a redacted one unchanged, text and calls in order', async () => {
  const redacted = [
    { type: 'content_block_start', index: 90, content_block: { type: 'redacted_thinking', data: 'hidden+/=' } },
    { type: 'content_block_stop', index: 90 },
  ]
  const raw = redacted.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const rounds = hostedRounds(
    [{ reasoning: 'They ask.', seal: seals[0] }, { raw }, 'Let me look.', { toolCall: oslo }, { toolCall: rome }],
    [{ reasoning: 'One more.', seal: seals[1] }, { toolCall: bonn }],
  )
  const body = await rounds('anthropic', 'claude-sonnet-4-5')
  const use = ({ id, name, arguments: args }: typeof oslo): object => ({ type: 'tool_use', id, name, input: JSON.parse(args) })
  const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: `result of ${id}` })
  assert.deepEqual(body['messages'].slice(1), [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'They ask.', signature: seals[0] },
        { type: 'redacted_thinking', data: 'hidden+/=' },
        { type: 'text', text: 'Let me look.' },
        use(oslo),
        use(rome),
      ],
    },
    { role: 'user', content: [result('call_1'), result('call_2')] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'One more.', signature: seals[1] }, use(bonn)] },
    { role: 'user', content: [result('call_3')] },
  ])
})

test('a loop with google: a thought signature is sent back at the call that had it, and none is invented', async () => {
  const rounds = hostedRounds(
    ['Let me look.', { toolCall: { ...oslo, seal: seals[0]! } }, { toolCall: rome }],
    [{ reasoning: 'Hm.' }, { toolCall: { ...bonn, seal: seals[1]! } }],
  )
  const body = await rounds('google', 'gemini-3-pro-preview')
  const call = ({ id, name, arguments: args }: typeof oslo): object => ({ functionCall: { id, name, args: JSON.parse(args) } })
  const result = ({ id, name }: typeof oslo): object => ({
    functionResponse: { id, name, response: { name, content: `result of ${id}` } },
  })
  assert.deepEqual(body['contents'].slice(1), [
    { role: 'model', parts: [{ text: 'Let me look.' }, { ...call(oslo), thoughtSignature: seals[0] }, call(rome)] },
    { role: 'user', parts: [result(oslo), result(rome)] },
    { role: 'model', parts: [{ ...call(bonn), thoughtSignature: seals[1] }] },
    { role: 'user', parts: [result(bonn)] },
  ])
})

test('a loop with google: a call without an id or arguments gets them', async () => {
  const raw = `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ functionCall: { name: 'time' } }, { functionCall: { name: 'time' } }] } }] })}\n\n`
  const { toolCalls } = await hosted.answer('google', [{ raw }])
  assert.deepEqual(
    toolCalls.map(({ name, arguments: args }) => [name, args]),
    [
      ['time', '{}'],
      ['time', '{}'],
    ],
  )
  assert.equal(new Set(toolCalls.map(({ id }) => id)).size, 2)
})

for (const name of ['reasoning_content', 'reasoning'] as const) {
  test(`a loop with openai-compatible: ${name} and the fields beside a call are sent back under their names`, async () => {
    const said = (text: string) => ({ event: { choices: [{ index: 0, delta: { [name]: text } }] } })
    const call = ({ id, name: tool, arguments: args }: typeof oslo, n: number, seal?: string) => {
      const extra = seal === undefined ? {} : { extra_content: { google: { thought_signature: seal } } }
      const started = { index: n, id, type: 'function', function: { name: tool, arguments: args.slice(0, 5) }, ...extra }
      const rest = { index: n, function: { arguments: args.slice(5) } }
      return [started, rest].map((delta) => ({ event: { choices: [{ index: 0, delta: { tool_calls: [delta] } }] } }))
    }
    chat.server.script(
      [said('They '), said('ask. ß😀'), 'Let me look.', ...call(oslo, 0, seals[0]), ...call(rome, 1), { finish: 'tool_calls' }],
      // a plain stop, and no text
      [
        { event: { choices: [{ index: 0, delta: { content: null, [name]: 'One more.' } }] } },
        ...call(bonn, 0, seals[1]),
        { finish: 'stop' },
      ],
      'It rains.',
    )
    const body = await threeRounds(
      (request) => chat.ask({ request }),
      () => chat.server.calls.at(-1)!.body,
      'some-model',
    )
    const sent = ({ id, name: tool, arguments: args }: typeof oslo, seal?: string): object => ({
      id,
      type: 'function',
      function: { name: tool, arguments: args },
      ...(seal === undefined ? {} : { extra_content: { google: { thought_signature: seal } } }),
    })
    const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: `result of ${id}` })
    assert.deepEqual(body['messages'].slice(1), [
      { role: 'assistant', content: 'Let me look.', [name]: 'They ask. ß😀', tool_calls: [sent(oslo, seals[0]), sent(rome)] },
      result('call_1'),
      result('call_2'),
      { role: 'assistant', content: null, [name]: 'One more.', tool_calls: [sent(bonn, seals[1])] },
      result('call_3'),
    ])
  })
}

test('a loop with openai-compatible: reasoning details are merged by index and sent back alone', async () => {
  const detail = (fields: object) => ({ event: { choices: [{ index: 0, delta: { reasoning: 'x', reasoning_details: [fields] } }] } })
  const step = await chat.answer([
    detail({ type: 'reasoning.text', index: 0, format: 'f', text: 'They ', signature: null }),
    detail({ type: 'reasoning.text', index: 0, text: 'ask.', signature: seals[0] }),
    detail({ type: 'reasoning.encrypted', index: 0, data: seals[1] }),
    detail({ type: 'reasoning.encrypted', index: 0, data: seals[1] }),
    { toolCall: oslo },
  ])
  await chat.ask({ request: { messages: [{ role: 'user', content: 'Rain?' }, ...afterwards(step)], tools } })
  const { role, content, tool_calls, ...wanted } = chat.server.calls.at(-1)!.messages[1]!
  assert.ok(tool_calls && role === 'assistant' && content === null)
  const encrypted = { type: 'reasoning.encrypted', index: 0, data: seals[1] }
  assert.deepEqual(wanted, {
    reasoning_details: [{ type: 'reasoning.text', index: 0, format: 'f', text: 'They ask.', signature: seals[0] }, encrypted, encrypted],
  })
})

test('a continuation of another API, of other calls, or a damaged one is left out, and the step is sent back without it', async () => {
  const calls = [oslo, rome]
  const answer = (continuation: unknown): PromptMessage[] => [
    { role: 'user', content: 'Rain?' },
    { role: 'assistant', content: 'Let me look.', toolCalls: calls, continuation },
    ...calls.map((call): PromptMessage => ({ role: 'tool', toolCallId: call.id, content: 'x' })),
  ]
  const reasoning = { kind: 'reasoning', text: 'Hm.', marks: { signature: 's' } }
  const call = { kind: 'call', marks: {} }
  for (const continuation of [
    { of: 'google', parts: [reasoning, call, call] },
    { of: 'anthropic', parts: [reasoning, call] },
    { of: 'anthropic', parts: [reasoning, call, call, { kind: 'text' }] },
    { of: 'chat', reasoning: 'Hm.' },
    { of: 'anthropic' },
    'x',
    null,
  ]) {
    await hosted.ask('anthropic', { request: { messages: answer(continuation), tools } })
    const { content } = hosted.server.calls.at(-1)!.body['messages'][1]
    const types = content.map((part: any) => part.type)
    assert.deepEqual(types, ['text', 'tool_use', 'tool_use'], JSON.stringify(continuation))
  }
  await chat.ask({ request: { messages: answer({ of: 'anthropic', reasoning: 'Hm.' }), tools } })
  assert.ok(!('reasoning' in chat.server.calls.at(-1)!.messages[1]!))
})

test('a text that was cleaned meanwhile is sent back whole in the place of the first one', async () => {
  const step = await hosted.answer('anthropic', ['Let \0me', { reasoning: 'Hm.' }, ' look.', { toolCall: oslo }])
  const messages: PromptMessage[] = [{ role: 'user', content: 'Rain?' }, ...afterwards({ ...step, text: 'Let me look.' })]
  await hosted.ask('anthropic', { request: { messages, tools } })
  const { content } = hosted.server.calls.at(-1)!.body['messages'][1]
  assert.deepEqual(
    content.map((part: any) => part.text ?? part.type),
    ['Let me look.', 'thinking', 'tool_use'],
  )
})

test('a continuation has a size limit: larger reasoning is left out entirely', async () => {
  const half = 'x'.repeat(maxContinuation / 2 + 1)
  const request = { maxOutputTokens: 100_000 }
  hosted.server.script([{ reasoning: half }, { reasoning: half }, { toolCall: oslo }])
  assert.equal((await hosted.ask('anthropic', { request })).continuation, undefined)
  hosted.server.script([{ reasoning: 'short', seal: 'x'.repeat(maxContinuation) }, { toolCall: oslo }])
  assert.equal((await hosted.ask('anthropic', { request })).continuation, undefined)
  chat.server.script([{ reasoning: half }, { reasoning: half }, { toolCall: oslo }])
  assert.equal((await chat.ask({ request })).continuation, undefined)
})

test('a step without calls has no continuation, and neither has one without provider data', async () => {
  for (const kind of ['openai', 'anthropic', 'google'] as const)
    assert.ok(!('continuation' in (await hosted.answer(kind, [{ reasoning: 'Hm.', seal: 's' }, 'Yes.']))), kind)
  for (const kind of ['openai', 'anthropic', 'google'] as const)
    assert.ok(!('continuation' in (await hosted.answer(kind, ['Yes.', { toolCall: oslo }]))), kind)
  assert.ok(!('continuation' in (await chat.answer([{ reasoning: 'Hm.' }, 'Yes.']))))
  assert.ok(!('continuation' in (await chat.answer(['Yes.', { toolCall: oslo }]))))
})
