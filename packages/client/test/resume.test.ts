/** A stream that breaks is continued where it broke, and with the same key where that is not possible. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConflictError, ServiceUnavailableError } from '../src/client.ts'
import type { ChatStreamEvent, ReplyStream } from '../src/client.ts'
import { continued, empty, refused, replied, requestId, soon, startScriptedServer, streamed, streamedWithIds } from './scripted-server.ts'
import type { Script } from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }
const post = 'POST /chat/stream'
const get = `GET /turns/${requestId}/stream`

/** A text is a delta; other events by the last word of their type. */
const shown = (event: ChatStreamEvent): string =>
  event.type === 'response.output_text.delta' ? event.delta : `(${event.type.split('.').at(-1)})`
async function read(stream: ReplyStream): Promise<string[]> {
  const seen: string[] = []
  for await (const event of stream) seen.push(shown(event))
  return seen
}

/** Sends a message to a server with these responses. Returns what was read, and what was asked. */
async function run(...scripts: Script[]): Promise<{ seen: string[]; asked: string[]; keys: (string | undefined)[] }> {
  await using server = await startScriptedServer(...scripts)
  const seen = await read(server.client().stream(message, { idempotencyKey: 'k' }))
  return { seen, asked: server.asked, keys: server.keys }
}

void describe('resume', { concurrency: 8 }, () => {
  void test('resume: a broken stream is continued after its last event, without the message and its key', async () => {
    const { seen, asked, keys } = await run(
      streamedWithIds(['Hel'], 'reset'),
      continued(3, ['lo'], 'reset'),
      refused(429, 'rate_limit_exceeded', soon),
      continued(5, [' Ann', { completed: 'Hello Ann' }]),
    )
    assert.deepEqual(seen, ['(created)', 'Hel', 'lo', ' Ann', '(completed)'])
    assert.deepEqual(asked, [post, `${get} at-3`, `${get} at-5`, `${get} at-5`])
    assert.deepEqual(keys, ['k', undefined, undefined, undefined])
  })

  void test('resume: events have the id that the service gave them, and the reply has none', async () => {
    await using server = await startScriptedServer(streamedWithIds(['Hel'], 'reset'), continued(3, ['lo', { completed: 'Hello' }]))
    const stream = server.client().stream(message)
    const ids = (await Array.fromAsync(stream)).map(({ id }) => id)
    assert.deepEqual(ids, ['at-0', 'at-3', 'at-5', 'end'])
    assert.deepEqual(Object.keys(await stream.completed), ['requestId', 'conversationId', 'message', 'usage'])
  })

  void test('resume: a reset by the service is passed on if the text differs, and not if it is the same', async () => {
    const other = await run(
      streamedWithIds(['It ', 'rains.'], 'reset'),
      continued(9, ['reset', 'It ', 'is dry.', { completed: 'It is dry.' }]),
    )
    assert.deepEqual(other.seen, ['(created)', 'It ', 'rains.', '(reset)', 'It is dry.', '(completed)'])
    const same = await run(
      streamedWithIds(['It ', 'rains.'], 'reset'),
      continued(9, ['reset', 'It rai', 'ns.', { completed: 'It rains.' }]),
    )
    assert.deepEqual(same.seen, ['(created)', 'It ', 'rains.', '(completed)'])
  })

  void test('resume: after a reset, a stream that breaks again is continued in the new text', async () => {
    const { seen, asked } = await run(
      streamedWithIds(['It rains.'], 'reset'),
      continued(9, ['reset', 'It '], 'reset'),
      continued(3, ['is dry.', { completed: 'It is dry.' }]),
    )
    assert.deepEqual(seen, ['(created)', 'It rains.', '(reset)', 'It is dry.', '(completed)'])
    assert.deepEqual(asked, [post, `${get} at-9`, `${get} at-3`])
  })

  void test('resume: a released turn runs again with the same key: its stream has nothing left, or ends with the error again', async () => {
    const again = streamedWithIds(['Hello', { completed: 'Hello' }])
    const left = await run(streamedWithIds(['Hel', { error: 'service_unavailable' }]), empty(204), again)
    assert.deepEqual(left.seen, ['(created)', 'Hel', 'lo', '(completed)'])
    assert.deepEqual(left.asked, [post, `${get} end`, post])
    const error = continued(3, [{ error: 'service_unavailable' }])
    const repeated = await run(streamedWithIds(['Hel'], 'reset'), error, again)
    assert.deepEqual(repeated.seen, ['(created)', 'Hel', 'lo', '(completed)'])
    assert.deepEqual(repeated.asked, [post, `${get} at-3`, post])
  })

  void test('resume: a turn that is running again starts from the beginning, and no text is repeated', async () => {
    const { seen } = await run(
      streamedWithIds(['Hel', { error: 'service_unavailable' }]),
      streamedWithIds(['He', 'llo', { completed: 'Hello' }]),
    )
    assert.deepEqual(seen, ['(created)', 'Hel', 'lo', '(completed)'])
  })

  void test('resume: an error event of a process that stops is followed by the rest of the turn from another process', async () => {
    const { seen, asked } = await run(
      streamedWithIds(['Hel', { error: 'service_unavailable' }]),
      continued(3, ['lo', { completed: 'Hello' }]),
    )
    assert.deepEqual(seen, ['(created)', 'Hel', 'lo', '(completed)'])
    assert.deepEqual(asked, [post, `${get} end`])
  })

  void test('resume: where the turn cannot be continued, the same key is sent again immediately', async () => {
    for (const refusal of [refused(404, 'not_found'), refused(422, 'validation_error'), empty(404)]) {
      const { seen, asked } = await run(streamedWithIds(['Hel'], 'reset'), refusal, streamed(['Hello', { completed: 'Hello' }]))
      assert.deepEqual(seen, ['(created)', 'Hel', 'lo', '(completed)'])
      assert.deepEqual(asked, [post, `${get} at-3`, post])
    }
  })

  void test('resume: without ids of the service, or after an event without one, the same key is sent again', async () => {
    const older = await run(streamed(['Hel'], 'reset'), streamed(['Hello', { completed: 'Hello' }]))
    assert.deepEqual(older.asked, [post, post])
    const raw = { raw: 'event: response.output_text.delta\ndata: {"delta":"lo"}\n\n' }
    const mixed = await run(streamedWithIds(['Hel', raw], 'reset'), streamed(['Hello', { completed: 'Hello' }]))
    assert.deepEqual(mixed.seen, ['(created)', 'Hel', 'lo', '(completed)'])
    assert.deepEqual(mixed.asked, [post, post])
  })

  void test('resume: a key whose turn is running again is continued where the reader is', async () => {
    const { seen, asked } = await run(
      streamedWithIds(['Hel'], 'reset'),
      empty(404),
      refused(409, 'idempotency_in_progress', soon),
      continued(3, ['lo', { completed: 'Hello' }]),
    )
    assert.deepEqual(seen, ['(created)', 'Hel', 'lo', '(completed)'])
    assert.deepEqual(asked, [post, `${get} at-3`, post, `${get} at-3`])
  })

  void test('resume: a refusal before the stream has started is repeated with the key', async () => {
    const busy = refused(409, 'conversation_busy', soon)
    const { asked } = await run(
      busy,
      streamedWithIds([{ error: 'service_unavailable' }]),
      empty(204),
      busy,
      streamedWithIds([{ completed: '' }]),
    )
    assert.deepEqual(asked, [post, post, `${get} end`, post, post])
  })

  void test('resume: a canceled turn is a ConflictError, and nothing is sent again', async () => {
    for (const scripts of [
      [refused(409, 'turn_cancelled')],
      [streamedWithIds([{ error: 'turn_cancelled' }])],
      [streamedWithIds([], 'reset'), continued(0, [{ error: 'turn_cancelled' }])],
    ]) {
      await using server = await startScriptedServer(...scripts, replied())
      await assert.rejects(read(server.client().stream(message)), (error) => {
        assert.ok(error instanceof ConflictError)
        assert.deepEqual([error.code, error.status, error.requestId], ['turn_cancelled', 409, requestId])
        return true
      })
      assert.equal(server.requests.length, scripts.length)
    }
  })

  void test('resume: retries that are used up while it is continued throw the last error, with the key', async () => {
    await using server = await startScriptedServer(streamedWithIds(['Hel'], 'reset'), refused(503, 'service_unavailable', soon))
    await assert.rejects(read(server.client().stream(message, { maxRetries: 2, idempotencyKey: 'k' })), (error) => {
      return error instanceof ServiceUnavailableError && error.idempotencyKey === 'k'
    })
    assert.deepEqual(server.asked, [post, `${get} at-3`, `${get} at-3`])
  })
})
