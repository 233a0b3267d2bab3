/** A streamed reply over connections that break: nothing twice, nothing lost, and nothing left behind by a caller who stops reading. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  APIConnectionError,
  APIUserAbortError,
  InsufficientBalanceError,
  InternalServerError,
  NotFoundError,
  TurnkeepError,
} from '../src/client.ts'
import type { ChatStream, ChatStreamEvent } from '../src/client.ts'
import { html, json, refused, replied, requestId, soon, startScriptedServer, streamed, wireReply } from './scripted-server.ts'
import type { Script } from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }

/** A text is a delta; other events by the last word of their type. */
async function read(stream: ChatStream): Promise<string[]> {
  const seen: string[] = []
  for await (const event of stream) seen.push(shown(event))
  return seen
}
const shown = (event: ChatStreamEvent): string =>
  event.type === 'response.output_text.delta' ? event.delta : `(${event.type.split('.').at(-1)})`

void describe('stream', { concurrency: 8 }, () => {
  void test('stream: events are typed and in order, and completed equals the result of chat', async () => {
    await using server = await startScriptedServer(streamed(['Hel', 'lo', { completed: 'Hello' }]), replied('Hello'))
    const client = server.client()
    const stream = client.stream(message)
    const events: ChatStreamEvent[] = []
    for await (const event of stream) events.push(event)
    const ids = { requestId, conversationId: 'conv_1' }
    const reply = await client.chat(message)
    assert.deepEqual(events, [
      { type: 'response.created', ...ids },
      { type: 'response.output_text.delta', delta: 'Hel' },
      { type: 'response.output_text.delta', delta: 'lo' },
      { type: 'response.completed', ...reply },
    ])
    assert.deepEqual(await stream.completed, reply)
    assert.equal(await stream.text(), 'Hello')
    assert.equal(server.keys[0], stream.idempotencyKey)
    assert.deepEqual([server.requests[0]?.url, server.requests[0]?.headers.accept], ['/v1/agents/agt_1/chat/stream', 'text/event-stream'])
  })

  void test('stream: a broken stream is finished with the same key: only the rest is emitted, once', async () => {
    await using server = await startScriptedServer(
      streamed(['Hel'], 'reset'),
      streamed(['Hello', ' my'], 'end'),
      refused(409, 'idempotency_in_progress', soon),
      html(502, soon),
      streamed([{ completed: 'Hello my friend' }]),
    )
    const stream = server.client().stream(message)
    assert.deepEqual(await read(stream), ['(created)', 'Hel', 'lo', ' my', ' friend', '(completed)'])
    assert.deepEqual(server.keys, Array(5).fill(stream.idempotencyKey))
  })

  void test('stream: a turn that ran again with another reply starts over after a reset', async () => {
    await using server = await startScriptedServer(
      streamed(['It ', 'rains.', { error: 'service_unavailable' }]),
      streamed(['It ', 'is dry.', { completed: 'It is dry.' }]),
    )
    const stream = server.client().stream(message)
    assert.deepEqual(await read(stream), ['(created)', 'It ', 'rains.', '(reset)', 'It is dry.', '(completed)'])
    assert.equal(await stream.text(), 'It is dry.')
  })

  void test('stream: a malformed event is a broken attempt; unknown events are ignored', async () => {
    await using server = await startScriptedServer(
      streamed([{ raw: 'event: response.output_text.delta\ndata: {"delta":\n\n' }]),
      streamed([{ raw: 'event: response.completed\ndata: {"message":{}}\n\n' }]),
      streamed([{ raw: ': awake\n\nevent: response.mood\ndata: no JSON\n\n' }, 'Hi', { completed: 'Hi' }]),
    )
    assert.deepEqual(await read(server.client().stream(message)), ['(created)', 'Hi', '(completed)'])
    assert.equal(server.requests.length, 3)
  })

  void test('stream: a failure is thrown after the events before it, with the status of its code, and rejects completed and text', async () => {
    await using server = await startScriptedServer(streamed(['Hel', { error: 'insufficient_balance' }]))
    const stream = server.client().stream(message, { idempotencyKey: 'k' })
    const seen: string[] = []
    const failure = await (async () => {
      for await (const event of stream) seen.push(shown(event))
    })().catch((error: unknown) => error)
    assert.deepEqual(seen, ['(created)', 'Hel'])
    assert.ok(failure instanceof InsufficientBalanceError)
    const { code, status, retryAfter, idempotencyKey } = failure
    assert.deepEqual(
      [code, status, failure.requestId, retryAfter, idempotencyKey],
      ['insufficient_balance', 402, requestId, undefined, 'k'],
    )
    await assert.rejects(stream.completed, failure)
    await assert.rejects(stream.text(), failure)
    await using strange = await startScriptedServer(streamed([{ error: 'never_heard_of' }]), refused(404, 'agent_not_found'))
    await assert.rejects(read(strange.client().stream(message)), InternalServerError)
    await assert.rejects(read(strange.client().stream(message)), NotFoundError)
    assert.equal(strange.requests.length, 2)
  })

  void test('stream: text and completed read the stream themselves, with one request for both, also beside a loop', async () => {
    await using server = await startScriptedServer(streamed(['Hel', 'lo', { completed: 'Hello' }]))
    const stream = server.client().stream(message)
    const [text, { usage }, seen] = await Promise.all([stream.text(), stream.completed, read(stream)])
    assert.deepEqual([text, usage.totalTokens, seen], ['Hello', 830, ['(created)', 'Hel', 'lo', '(completed)']])
    assert.equal(server.requests.length, 1)
  })

  void test('stream: nothing is sent before it is read, and an aborted one is never sent', async () => {
    await using server = await startScriptedServer(streamed([{ completed: '' }]))
    const client = server.client()
    client.stream(message)
    const stopped = client.stream(message)
    stopped.abort()
    await assert.rejects(stopped.text(), APIUserAbortError)
    const signalled = client.stream(message, { signal: AbortSignal.abort() })
    await assert.rejects(read(signalled), APIUserAbortError)
    const left = client.stream(message)
    for await (const event of left) if (event.type === 'response.created') break
    assert.deepEqual(server.keys, [left.idempotencyKey])
  })

  void test('stream: leaving the loop ends the connection, and nothing more is sent', async () => {
    await using server = await startScriptedServer(streamed(['Hel'], 'silence'), streamed([{ completed: 'Hello' }]))
    const client = server.client()
    const stream = client.stream(message)
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
    await server.requests[0]?.closed
    await assert.rejects(stream.completed, (error) => error instanceof APIUserAbortError && error.idempotencyKey === stream.idempotencyKey)
    // The rest would come with its key.
    assert.equal(await client.stream(message, { idempotencyKey: stream.idempotencyKey }).text(), 'Hello')
    assert.equal(server.requests.length, 2)
  })

  void test('stream: return() during a waiting next() ends both immediately', async () => {
    await using server = await startScriptedServer(streamed([], 'silence'))
    const iterator = server.client().stream(message)[Symbol.asyncIterator]()
    await iterator.next()
    const waiting = iterator.next()
    await iterator.return?.()
    assert.deepEqual(await waiting, { done: true, value: undefined })
    await server.requests[0]?.closed
  })

  void test('stream: abort() and a signal end a loop with APIUserAbortError; after the last event they do nothing', async () => {
    await using server = await startScriptedServer(
      streamed(['Hel'], 'silence'),
      streamed(['Hel'], 'silence'),
      streamed([{ completed: '' }]),
    )
    const controller = new AbortController()
    const streams = [server.client().stream(message), server.client().stream(message, { signal: controller.signal })]
    for (const stream of streams) {
      await assert.rejects(async () => {
        for await (const event of stream) {
          if (event.type !== 'response.output_text.delta') continue
          if (stream === streams[0]) stream.abort()
          else controller.abort()
        }
      }, APIUserAbortError)
    }
    await Promise.all(server.requests.map(({ closed }) => closed))
    const whole = server.client().stream(message)
    await read(whole)
    whole.abort()
    assert.equal(await whole.text(), '')
  })

  void test('stream: a second loop is refused with a clear error', async () => {
    await using server = await startScriptedServer(streamed([{ completed: '' }]))
    const stream = server.client().stream(message)
    await read(stream)
    await assert.rejects(read(stream), (error) => error instanceof TurnkeepError && /once/.test(error.message))
  })

  void test('stream: a slow reader loses nothing and delays nothing else', async () => {
    const words = Array.from({ length: 500 }, (_, index) => `${index} `)
    await using server = await startScriptedServer(streamed([...words, { completed: words.join('') }]))
    const stream = server.client().stream(message)
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    // All of it has arrived before the next event is read, so there is nothing left to abort.
    await stream.completed
    stream.abort()
    for (const word of words) {
      const { value } = await iterator.next()
      assert.equal(value?.type === 'response.output_text.delta' && value.delta, word)
    }
  })

  void test('stream: after its last event the connection is reused', async () => {
    let end = (): unknown => undefined
    const last: Script = (response, request) => {
      end = () => response.end()
      return streamed([{ completed: '' }], 'silence')(response, request)
    }
    await using server = await startScriptedServer(last, replied())
    const client = server.client()
    await client.stream(message).text()
    // The end of the body comes only now.
    end()
    await server.requests[0]?.closed
    for (let call = 0; call < 3; call++) await client.chat(message)
    const [first, ...others] = server.requests.map(({ port }) => port)
    assert.ok(others.includes(first ?? 0), 'the connection of the stream was given up')
  })

  void test('stream: JSON instead of a stream is a failed attempt', async () => {
    await using server = await startScriptedServer(json(200, wireReply()), streamed([{ completed: 'Hi' }]))
    assert.equal(await server.client().stream(message).text(), 'Hi')
    await using never = await startScriptedServer(json(200, wireReply()))
    await assert.rejects(read(never.client().stream(message, { maxRetries: 0 })), (error) => {
      return error instanceof APIConnectionError && /200 \(application\/json\)/.test(error.message)
    })
  })
})
