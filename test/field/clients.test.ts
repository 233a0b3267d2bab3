/**
 * What clients of OpenAI's API send beside the message, in every combination: histories of other models, settings that the user has not set,
 * and calls of endpoints that this service does not have. Similar services have public bug reports about each kind.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { completionParameters, responseParameters } from '../../src/http/openai/parameters.ts'
import { openAiClient } from '../support/openai-caller.ts'
import { startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'
import { startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'

/** How many histories and bodies of each kind are generated. */
const histories = 400
const emptySettings = 200

type Path = '/v1/chat/completions' | '/v1/responses'
const paths: Path[] = ['/v1/chat/completions', '/v1/responses']
const listOf = (path: Path): string => (path === '/v1/responses' ? 'input' : 'messages')

const startLayer = (): Promise<TestLayer> => startTestLayer({ resource: { find: async () => ({ details: null }) as never } })

type Answered = { status: number; json: Json; message: string | undefined; externalUserId: string | undefined }

async function send(layer: TestLayer, path: Path, items: unknown, more: Json = {}): Promise<Answered> {
  layer.started.length = 0
  const response = await fetch(`${layer.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'agt_door', user: 'u', [listOf(path)]: items, ...more }),
  })
  const [started] = layer.started
  const json = (await response.json()) as Json
  return { status: response.status, json, message: started?.message, externalUserId: started?.externalUserId }
}

const text = fc.string({ minLength: 1, maxLength: 12 }).map((given) => `t${given}`)
const anything = fc.jsonValue({ maxDepth: 2 })
const image = { url: 'data:image/png;base64,iVBORw0KGgo=' }

/** Every kind of part that a client may repeat, of both APIs and of others, and what is not a part. */
const anyPart: Arbitrary<unknown> = fc.oneof(
  text.map((given) => ({ type: 'text', text: given })),
  text.map((given) => ({ type: 'input_text', text: given })),
  text.map((given) => ({ type: 'output_text', text: given, annotations: [] })),
  text.map((given) => ({ type: 'refusal', refusal: given })),
  fc.constantFrom<unknown>(
    { type: 'text', text: '' },
    { type: 'text', text: null },
    { type: 'text', text: 7 },
    { type: 'image_url', image_url: image },
    { type: 'image_url', image_url: null },
    { type: 'input_image', image_url: image.url, detail: 'auto' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } },
    { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
    { type: 'file', file: { file_id: 'file-1' } },
    { type: 'input_file', file_data: 'data:application/pdf;base64,' },
    { type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } },
    { type: 'tool_use', id: 't', name: 'f', input: {} },
    { type: 'tool_result', tool_use_id: 't', content: 'x' },
    { type: 'thinking', thinking: 'x', signature: 's' },
    { type: 'reasoning_text', text: 'x' },
    { type: { toString: 1 } },
    { type: 'constructor', constructor: 'x' },
    null,
    7,
    'plain',
    [],
    {},
  ),
  anything,
)
const anyContent: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>('', null, undefined, [], {}, 7, '\0', '\ud800'),
  text,
  fc.array(anyPart, { maxLength: 4 }),
  anything,
)
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
/** An item that is not the last message of the user. No system message: those are a case of their own. */
const anyEarlier: Arbitrary<unknown> = fc.oneof(
  fc.record({
    role: fc.constantFrom<unknown>('user', 'assistant', 'tool', 'function', 'model', 'ipython', 'User', '', null, 7),
    content: anyContent,
    name: fc.option(text),
    tool_call_id: fc.constantFrom('call_1', null),
    tool_calls: fc.constantFrom<unknown>([call], [], null),
    refusal: fc.constantFrom<unknown>(null, 'no'),
    audio: fc.constantFrom<unknown>(null, { id: 'audio_1' }),
    function_call: fc.constantFrom<unknown>(null, call.function),
    reasoning_content: fc.constantFrom<unknown>(null, 'x'),
  }),
  fc.record({ type: fc.constantFrom<unknown>('message', null), role: fc.constantFrom('user', 'assistant'), content: anyContent }),
  fc.constantFrom<unknown>(
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: '1' },
    { type: 'custom_tool_call_output', call_id: 'c', output: '1' },
    { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: image.url } },
    { type: 'mcp_approval_request', id: 'm', name: 'f', arguments: '{}', server_label: 's' },
    { type: 'mcp_approval_response', approval_request_id: 'm', approve: true },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
    { type: 'item_reference', id: 'msg_1' },
    { type: 'image_generation_call', id: 'ig_1', result: 'x' },
    { type: 'compaction', encrypted_content: 'x' },
    { type: 'of_next_year', content: [{ type: 'x' }] },
    { type: { toString: 1 }, role: { toString: 1 } },
    null,
    7,
    'plain',
    [],
    {},
  ),
)
const emptySystem: Arbitrary<unknown> = fc.record({
  role: fc.constantFrom('system', 'developer'),
  content: fc.constantFrom<unknown>(
    '',
    ' ',
    '\n\t\u00a0\ufeff',
    null,
    undefined,
    [],
    [''],
    [null],
    { type: 'text', text: '' },
    [{ type: 'text', text: '' }],
    [{ type: 'input_text', text: ' ' }],
    [{ type: 'text', text: null }, { type: 'text' }],
  ),
})

void test('openai.refused-parameters: only the last user message is judged, whatever the history before it contains', async () => {
  await using layer = await startLayer()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(fc.oneof({ weight: 4, arbitrary: anyEarlier }, { weight: 1, arbitrary: emptySystem }), { maxLength: 6 }),
      fc.array(text, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('text', 'parts', 'input parts', 'plain parts', 'one part'),
      // Of the assistant, after the last message: a client that continues a reply sends its start.
      fc.constantFrom<unknown[]>([], [{ role: 'assistant', content: 'It ' }], [{ role: 'system', content: '' }]),
      async (path, history, texts, form, after) => {
        const message = form === 'one part' ? texts[0]! : texts.join('')
        const contents: Record<typeof form, unknown> = {
          text: message,
          parts: texts.map((one) => ({ type: 'text', text: one })),
          'input parts': [...texts.map((one) => ({ type: 'input_text', text: one })), { type: 'text', text: '' }, null],
          'plain parts': texts,
          'one part': { type: 'text', text: message },
        }
        const answer = await send(layer, path, [...history, { role: 'user', content: contents[form] }, ...after])
        assert.deepEqual([answer.status, answer.message], [200, message], JSON.stringify(answer.json))
      },
    ),
    { numRuns: histories },
  )
})

const noText: [part: Json, kind: string][] = [
  [{ type: 'image_url', image_url: image }, 'an image'],
  [{ type: 'input_image', image_url: image.url }, 'an image'],
  [{ type: 'image', source: {} }, 'an image'],
  [{ type: 'input_audio', input_audio: {} }, 'audio'],
  [{ type: 'video_url', video_url: {} }, 'a video'],
  [{ type: 'file', file: {} }, 'a file'],
  [{ type: 'input_file', file_id: 'f' }, 'a file'],
  [{ type: 'document', source: {} }, 'a file'],
  [{ type: 'tool_result', content: 'x' }, 'not text'],
  [{ type: 'of_next_year' }, 'not text'],
  [{ type: { toString: 1 } }, 'not text'],
  [{ type: 'constructor' }, 'not text'],
]

void test('openai.refused-parameters: a last message with more than text is refused, and the same message without the rest is answered', async () => {
  await using layer = await startLayer()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(anyEarlier, { maxLength: 3 }),
      fc.array(text, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...noText),
      fc.nat(),
      async (path, history, texts, [part, kind], place) => {
        const parts: Json[] = texts.map((one) => ({ type: 'text', text: one }))
        const at = place % (parts.length + 1)
        const refused = await send(layer, path, [...history, { role: 'user', content: parts.toSpliced(at, 0, part) }])
        const { code, param, message } = refused.json['error']
        assert.deepEqual([refused.status, code, param, refused.message], [400, 'unsupported_parameter', listOf(path), undefined])
        assert.ok(message.includes(`${listOf(path)}[${history.length}].content[${at}] is ${kind}`), message)
        // The advice of the message.
        assert.match(message, /Remove it from the message and send it again\.$/)
        const followed = await send(layer, path, [...history, { role: 'user', content: parts }])
        assert.deepEqual([followed.status, followed.message], [200, texts.join('')])
      },
    ),
    { numRuns: histories },
  )
})

void test('openai.refused-parameters: a system message with text is refused at any place, and answered without it', async () => {
  await using layer = await startLayer()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(anyEarlier, { maxLength: 4 }),
      fc.constantFrom('system', 'developer'),
      fc.oneof(
        text,
        text.map((given) => [
          { type: 'text', text: ' ' },
          { type: 'input_text', text: given },
        ]),
        fc.constantFrom(...noText).map(([part]) => [part]),
      ),
      fc.nat(),
      async (path, history, role, content, place) => {
        const items = [...history, { role: 'user', content: 'hello' }]
        const refused = await send(layer, path, items.toSpliced(place % (items.length + 1), 0, { role, content }))
        assert.deepEqual([refused.status, refused.json['error'].code, refused.message], [400, 'unsupported_parameter', undefined])
        assert.match(refused.json['error'].message, /own system prompt\. Remove the system prompt from the settings of the client\.$/)
        assert.equal((await send(layer, path, items)).status, 200)
      },
    ),
    { numRuns: emptySettings },
  )
})

void test('openai.refused-parameters: the result of a tool that asks for a reply is refused, because its message has one', async () => {
  await using layer = await startLayer()
  for (const path of paths)
    for (const result of [
      { role: 'tool', tool_call_id: 'c', content: '1' },
      { role: 'function', name: 'f', content: '1' },
      { type: 'function_call_output', call_id: 'c', output: '1' },
      { type: 'local_shell_call_output', id: 'c', output: '1' },
      { type: 'mcp_approval_response', approval_request_id: 'm', approve: true },
    ]) {
      const history = [{ role: 'user', content: 'hello' }, { role: 'assistant', tool_calls: [call] }, result]
      const refused = await send(layer, path, history)
      assert.deepEqual([refused.status, refused.json['error'].code], [400, 'unsupported_parameter'], JSON.stringify(result))
      assert.match(refused.json['error'].message, /Send a message of the user instead\.$/)
      const followed = await send(layer, path, [...history, { role: 'user', content: 'and now?' }])
      assert.deepEqual([followed.status, followed.message], [200, 'and now?'])
    }
})

const tables = { '/v1/chat/completions': completionParameters, '/v1/responses': responseParameters }
const required = ['model', 'messages', 'input']

void test('openai.refused-parameters: what is null or empty counts as absent, for every parameter of both requests', async () => {
  await using layer = await startLayer()
  const names = [...new Set(paths.flatMap((path) => Object.keys(tables[path])))]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.uniqueArray(fc.tuple(fc.constantFrom(...names, 'unknown_one'), fc.constantFrom<unknown>(null, '', [])), {
        maxLength: 20,
        selector: ([name]) => name,
      }),
      async (path, empty) => {
        const settings = Object.fromEntries(empty.filter(([name]) => !required.includes(name) && name !== 'user'))
        const answer = await send(layer, path, [{ role: 'user', content: 'hello' }], settings)
        assert.deepEqual([answer.status, answer.message, answer.externalUserId], [200, 'hello', 'u'], JSON.stringify(answer.json))
      },
    ),
    { numRuns: emptySettings },
  )
  for (const path of paths) {
    const items = [{ role: 'user', content: 'hello' }]
    for (const name of Object.keys(tables[path]).filter((one) => !required.includes(one) && one !== 'user' && one !== 'web_search_options'))
      assert.equal((await send(layer, path, items, { [name]: {} })).status, 200, `${path} ${name}: {}`)
    // Without a user there is no conversation, and none is made up.
    for (const user of [null, '', []]) {
      assert.equal((await send(layer, path, items, { user })).json['error'].code, 'missing_user')
      assert.equal((await send(layer, path, items, { user, safety_identifier: 's' })).externalUserId, 's')
    }
    for (const name of ['model', listOf(path)])
      for (const empty of [null, '', []]) assert.equal((await send(layer, path, items, { [name]: empty })).json['error'].param, name)
  }
})

void test('openai.refused-parameters: each request ignores and refuses what the other one does', () => {
  const ofOne: Record<string, string> = { messages: 'used', input: 'used', background: 'used', previous_response_id: 'used' }
  for (const name of new Set(paths.flatMap((path) => Object.keys(tables[path])))) {
    const does = paths.map((path) => tables[path][name]?.does)
    if (does[0] === does[1]) continue
    // Chat Completions has no conversations of its own, and its chunks have no obfuscation to switch off.
    assert.ok(name in ofOne || name === 'conversation' || name === 'stream_options', `${name}: ${does.join(' and ')}`)
  }
})

/** Endpoints that OpenAI's clients have and this service does not. */
const otherEndpoints = `
  responses/compact responses/input_tokens completions embeddings images/generations images/edits audio/translations
  audio/transcriptions files files/file-1/content uploads batches moderations fine_tuning/jobs vector_stores assistants
  threads/t/runs conversations conversations/c/items realtime/client_secrets evals containers videos
  chat/completions/chatcmpl-1 chat/completions/chatcmpl-1/messages engines/e/completions
`
  .trim()
  .split(/\s+/)

void test('openai.errors: an endpoint of OpenAI that does not exist here is 404 and says so', async () => {
  await using layer = await startLayer()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...otherEndpoints),
      fc.constantFrom('', '/', '?limit=1'),
      fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
      fc.constantFrom('Bearer good', 'Bearer bad'),
      async (endpoint, suffix, method, authorization) => {
        const headers = { authorization, 'content-type': 'application/json' }
        const response = await fetch(`${layer.url}/v1/${endpoint}${suffix}`, { method, headers, body: '{"model":"agt_door"}' })
        const { error } = (await response.json()) as Json
        assert.deepEqual(
          [response.status, error.code, error.type, error.param],
          [404, 'unsupported_endpoint', 'invalid_request_error', null],
        )
        assert.match(error.message, /does not support this endpoint of the OpenAI API/)
      },
    ),
    { numRuns: emptySettings },
  )
  assert.deepEqual([layer.started, layer.spent], [[], 0])
  // A path that OpenAI does not have either is unknown as before.
  for (const path of ['/v1/respond', '/v1/embedding', '/v1/filesystem', '/v1', '/completions'])
    assert.equal(((await (await fetch(`${layer.url}${path}`, { method: 'POST' })).json()) as Json)['error'].code, 'not_found', path)
})

void test('openai.errors: the official client reports an endpoint that does not exist here', async () => {
  await using app = await startTestApp()
  const client = openAiClient(app, { maxRetries: 0 })
  for (const asked of [
    () => client.responses.compact({ model: 'gpt-5', input: 'hello' }),
    () => client.responses.inputTokens.count({ model: 'gpt-5', input: 'hello' }),
    () => client.embeddings.create({ model: 'text-embedding-3-small', input: 'hello' }),
    () => client.conversations.create(),
  ])
    await assert.rejects(asked, { status: 404, code: 'unsupported_endpoint', message: /does not support this endpoint/ })
})

void test('openai.clients: the official client answers in a chat that another model has started', async () => {
  await using app = await startTestApp()
  app.model.when('Oslo', ['It rains ', 'in Oslo.'])
  const client = openAiClient(app)
  const completion = await client.chat.completions.create({
    model: app.caller.agentId,
    user: 'bea',
    messages: [
      { role: 'system', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: image },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: '{}' },
      { role: 'assistant', content: 'A cat.', refusal: null },
      { role: 'user', content: 'And Oslo?' },
    ],
    tools: [],
  })
  assert.equal(completion.choices[0]!.message.content, 'It rains in Oslo.')
  const response = await client.responses.create({
    model: app.caller.agentId,
    user: 'bea',
    instructions: '',
    input: [
      { role: 'developer', content: [] },
      { role: 'user', content: [{ type: 'input_image', image_url: image.url, detail: 'auto' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: '{}' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Oslo ' },
          { type: 'input_text', text: 'again?' },
        ],
      },
    ],
  })
  assert.deepEqual([response.output_text, app.model.calls.at(-1)!.lastUserMessage], ['It rains in Oslo.', 'Oslo again?'])
  await app.verify()
})
