/**
 * A reply as `useChat` gets it: the response is read by the AI SDK's own transport, validated by its own schema, and shown by the chat that
 * `useChat` uses. test/cookbook/ai-sdk.test.ts does it in a browser.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, parseJsonEventStream, UI_MESSAGE_STREAM_HEADERS, uiMessageChunkSchema } from 'ai'
import type { UIMessage } from 'ai'
import { toUIMessageStreamResponse } from '../src/ai-sdk.ts'
import type { UIMessageStreamResponseOptions } from '../src/ai-sdk.ts'
import type { Turnkeep } from '../src/client.ts'
import { continued, refused, requestId, startScriptedServer, streamedWithIds } from './scripted-server.ts'
import type { Script } from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }

/** The parts of a response, each valid by the schema of the AI SDK. */
async function partsOf(response: Response): Promise<unknown[]> {
  const parts: unknown[] = []
  for await (const part of parseJsonEventStream({ stream: response.body!, schema: uiMessageChunkSchema })) {
    assert.ok(part.success, String(part.success || part.error))
    parts.push(part.value)
  }
  return parts
}

async function respond(options: UIMessageStreamResponseOptions, ...scripts: Script[]): Promise<unknown[]> {
  await using server = await startScriptedServer(...scripts)
  return await partsOf(toUIMessageStreamResponse(server.client({ maxRetries: 1 }).stream(message), options))
}

/** The chat behind `useChat`, on a backend with these two routes. */
function chatOn(client: Turnkeep, messages: UIMessage[] = []) {
  const backend: typeof fetch = async (_url, init) => {
    if (init?.method === 'POST') return toUIMessageStreamResponse(client.stream(message))
    return toUIMessageStreamResponse(client.turns.stream(requestId))
  }
  const errors: Error[] = []
  const chat = new Chat({ messages, transport: new DefaultChatTransport({ fetch: backend }), onError: (error) => errors.push(error) })
  const texts = () => chat.messages.map(({ role, parts }) => [role, ...parts.map((part) => (part.type === 'text' ? part.text : part.type))])
  return { chat, errors, texts }
}

void describe('ai-sdk', { concurrency: 8 }, () => {
  void test('ai-sdk: the response has the headers of the format, and the caller may replace them', async () => {
    await using server = await startScriptedServer(streamedWithIds([{ completed: '' }]))
    const headersOf = (options: UIMessageStreamResponseOptions) =>
      toUIMessageStreamResponse(server.client().stream(message), { ...options }).headers
    const name = 'x-vercel-ai-ui-message-stream'
    assert.equal(headersOf({}).get(name), UI_MESSAGE_STREAM_HEADERS[name])
    assert.equal(headersOf({}).get('content-type'), UI_MESSAGE_STREAM_HEADERS['content-type'])
    const replaced = headersOf({ headers: { 'Cache-Control': 'no-store', 'X-Chat': '1' } })
    assert.deepEqual([replaced.get('cache-control'), replaced.get('x-chat')], ['no-store', '1'])
    const { status } = toUIMessageStreamResponse(server.client().stream(message), { status: 201 })
    assert.equal(status, 201)
  })

  void test('ai-sdk: nothing is read before the body is', async () => {
    let reads = 0
    const events = { next: async () => ({ done: true, value: (reads += 1) }) as never }
    const response = toUIMessageStreamResponse({ [Symbol.asyncIterator]: () => events })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(reads, 0)
    assert.equal(await response.text(), 'data: [DONE]\n\n')
  })

  void test('ai-sdk: a reply is one message with one text part; its id is the request id', async () => {
    const messageMetadata: UIMessageStreamResponseOptions['messageMetadata'] = (event) =>
      event.type === 'response.completed' ? event.usage.totalTokens : undefined
    assert.deepEqual(await respond({ messageMetadata }, streamedWithIds(['Hel', 'lo', { completed: 'Hello' }])), [
      { type: 'start', messageId: requestId },
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'Hel' },
      { type: 'text-delta', id: 'text-1', delta: 'lo' },
      { type: 'text-end', id: 'text-1' },
      { type: 'finish', finishReason: 'stop', messageMetadata: 830 },
    ])
    await using server = await startScriptedServer(streamedWithIds([{ completed: '' }]))
    const text = await toUIMessageStreamResponse(server.client().stream(message)).text()
    assert.ok(text.endsWith('data: [DONE]\n\n'))
  })

  void test('ai-sdk: useChat shows a reply that was sent, and the text of a turn that ran again replaces the previous one', async () => {
    await using server = await startScriptedServer(
      streamedWithIds(['It ', 'rains.'], 'reset'),
      continued(9, ['reset', 'It is ', 'dry.', { completed: 'It is dry.' }]),
    )
    const { chat, errors, texts } = chatOn(server.client())
    await chat.sendMessage({ text: 'Hello' })
    assert.deepEqual(texts(), [
      ['user', 'Hello'],
      ['assistant', 'It is dry.'],
    ])
    assert.deepEqual([chat.status, chat.messages[1]?.id, errors], ['ready', requestId, []])
  })

  void test('ai-sdk: a reset ends the text part, discards it, and starts another', async () => {
    const parts = await respond({}, streamedWithIds(['A'], 'reset'), continued(1, ['reset', 'B', { completed: 'B' }]))
    assert.deepEqual(
      parts.map((part) => Object.values(part as object).join(' ')),
      [`start ${requestId}`, 'text-start text-1', 'text-delta text-1 A', 'text-end text-1', 'reset-step'].concat([
        'text-start text-2',
        'text-delta text-2 B',
        'text-end text-2',
        'finish stop',
      ]),
    )
  })

  void test('ai-sdk: a page that resumes shows the whole reply once, whether it has nothing, a part or all of it', async () => {
    const question: UIMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
    for (const known of [undefined, 'Hel', 'Hello']) {
      await using server = await startScriptedServer(streamedWithIds(['Hel', 'lo', { completed: 'Hello' }]))
      const reply: UIMessage = { id: requestId, role: 'assistant', parts: [{ type: 'text', text: known ?? '' }] }
      const { chat, errors, texts } = chatOn(server.client(), known === undefined ? [question] : [question, reply])
      await chat.resumeStream()
      assert.deepEqual(texts(), [
        ['user', 'Hello'],
        ['assistant', 'Hello'],
      ])
      assert.deepEqual([chat.status, errors], ['ready', []])
    }
  })

  void test('ai-sdk: a failure is an error without its reason, after what was generated; onError gets the error once', async () => {
    await using server = await startScriptedServer(streamedWithIds(['Hel', { error: 'internal_error' }]))
    const { chat, errors, texts } = chatOn(server.client())
    await chat.sendMessage({ text: 'Hello' })
    assert.deepEqual(texts().at(-1), ['assistant', 'Hel'])
    assert.deepEqual([chat.status, errors.map((error) => error.message)], ['error', ['The reply could not be completed. Try again.']])
    const seen: unknown[] = []
    const onError = (error: unknown): string => `failed ${seen.push(error)}`
    assert.deepEqual(await respond({ onError }, refused(402, 'insufficient_balance')), [{ type: 'error', errorText: 'failed 1' }])
    assert.equal((seen[0] as { code: string }).code, 'insufficient_balance')
  })

  void test('ai-sdk: a canceled turn is no error: its text is finished with another reason, and without text it is aborted', async () => {
    const incomplete: Script = async (response, request) => {
      const raw = JSON.stringify({
        request_id: requestId,
        conversation_id: 'c',
        message: { id: 'm', role: 'assistant', content: 'Hel', created_at: 't', incomplete: true },
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, charged_usd: '0.00000001' },
      })
      return streamedWithIds(['Hel', { raw: `event: response.completed\ndata: ${raw}\n\n` }])(response, request)
    }
    assert.deepEqual((await respond({}, incomplete)).at(-1), { type: 'finish', finishReason: 'other' })
    assert.deepEqual(await respond({}, refused(409, 'turn_cancelled')), [{ type: 'abort', reason: 'turn_cancelled' }])
    await using server = await startScriptedServer(refused(409, 'turn_cancelled'))
    const { chat, errors } = chatOn(server.client())
    await chat.sendMessage({ text: 'Hello' })
    assert.deepEqual([chat.status, errors], ['ready', []])
  })

  void test('ai-sdk: a stream that the caller aborts is an abort; a browser that disconnects aborts the stream', async () => {
    await using server = await startScriptedServer(streamedWithIds(['Hel'], 'silence'))
    const stopped = server.client().stream(message)
    const reader = toUIMessageStreamResponse(stopped).body!.getReader()
    await reader.read()
    stopped.abort()
    let text = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += new TextDecoder().decode(piece.value)
    assert.match(text, /data: \{"type":"abort"\}\n\ndata: \[DONE\]\n\n$/)
    const left = server.client().stream(message)
    const body = toUIMessageStreamResponse(left).body!.getReader()
    await body.read()
    const waiting = body.read()
    await body.cancel()
    await waiting
    await server.requests.at(-1)?.closed
    await assert.rejects(left.completed, { name: 'APIUserAbortError' })
  })
})
