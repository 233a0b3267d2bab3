/** A turn by its request ID, and a message in the background. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { APIConnectionError, NotFoundError, ServiceUnavailableError, TurnkeepError, ValidationError } from '../src/client.ts'
import type { ChatReply, ReplyStream } from '../src/client.ts'
import {
  continued,
  empty,
  json,
  refused,
  replied,
  requestId,
  soon,
  startScriptedServer,
  streamed,
  streamedWithIds,
  wireReply,
} from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }
const path = `/turns/${requestId}`
const { message: wireMessage, usage: wireUsage, ...wireIds } = wireReply('Hello')
const wireTurn = {
  ...wireIds,
  external_user_id: 'ann',
  created_at: '2026-11-21T14:11:50.000Z',
  ended_at: null,
  cancel_requested: false,
  finish_reason: null,
  status: 'running',
  message: null,
  usage: null,
  error: null,
}
const ended = { ...wireTurn, ended_at: '2026-11-21T14:11:58.332Z' }
const wireTurnUsage = {
  ...wireUsage,
  prompt_tokens_details: { cached_tokens: 500, cache_write_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 200 },
  tool_calls_usd: '0.01000000',
}
const completedTurn = { ...ended, status: 'completed', message: wireMessage, usage: wireTurnUsage }
const failedTurn = (status: string, code: string) => ({ ...ended, status, error: { code, message: 'In words.' } })

async function texts(stream: ReplyStream): Promise<string[]> {
  const seen: string[] = []
  for await (const event of stream)
    seen.push(event.type === 'response.output_text.delta' ? event.delta : `(${event.type.split('.').at(-1)})`)
  return seen
}

void describe('turns', { concurrency: 8 }, () => {
  void test('turns: get returns a turn in each status; message and usage are those of its reply', async () => {
    await using server = await startScriptedServer(
      refused(503, 'service_unavailable', soon),
      json(200, wireTurn),
      json(200, completedTurn),
      json(200, { ...failedTurn('cancelled', 'turn_cancelled'), cancel_requested: true }),
      refused(404, 'not_found'),
      json(200, { ...wireTurn, status: 'asleep' }),
    )
    const client = server.client()
    const running = await client.turns.get(requestId)
    assert.deepEqual(running, {
      requestId,
      conversationId: 'conv_1',
      externalUserId: 'ann',
      createdAt: '2026-11-21T14:11:50.000Z',
      endedAt: null,
      cancelRequested: false,
      finishReason: null,
      status: 'running',
      message: null,
      usage: null,
      error: null,
    })
    const completed = await client.turns.get(requestId)
    assert.equal(completed.status === 'completed' && completed.message.content + completed.usage.totalTokens, 'Hello830')
    assert.deepEqual(completed.usage, {
      promptTokens: 604,
      completionTokens: 226,
      totalTokens: 830,
      chargedUsd: '0.00022620',
      promptTokensDetails: { cachedTokens: 500, cacheWriteTokens: 4 },
      completionTokensDetails: { reasoningTokens: 200 },
      toolCallsUsd: '0.01000000',
    })
    const cancelled = await client.turns.get(requestId)
    assert.deepEqual(
      [cancelled.status, cancelled.cancelRequested, cancelled.error],
      ['cancelled', true, { code: 'turn_cancelled', message: 'In words.' }],
    )
    await assert.rejects(client.turns.get(requestId), NotFoundError)
    await assert.rejects(client.turns.get(requestId, { maxRetries: 0 }), APIConnectionError)
    assert.deepEqual(server.asked, Array(6).fill(`GET ${path}`))
    assert.deepEqual(server.keys, Array(6).fill(undefined))
  })

  void test('turns: find asks for the key of a message, and a cancelled turn that was charged has usage', async () => {
    const cancelled = { ...failedTurn('cancelled', 'turn_cancelled'), usage: wireTurnUsage }
    await using server = await startScriptedServer(json(200, wireTurn), json(200, cancelled), refused(404, 'not_found'))
    const { turns } = server.client()
    assert.equal((await turns.find('a b&c=d ü')).requestId, requestId)
    const { message: reply, usage } = await turns.find('k')
    assert.deepEqual([reply, usage?.toolCallsUsd], [null, '0.01000000'])
    await assert.rejects(turns.find('k'), NotFoundError)
    const base = 'GET /turns?idempotency_key='
    assert.deepEqual(server.asked, [`${base}a%20b%26c%3Dd%20%C3%BC`, `${base}k`, `${base}k`])
    for (const key of ['', ' a', 'a\n', '\ud800']) await assert.rejects(turns.find(key), TurnkeepError)
    assert.equal(server.requests.length, 3)
  })

  void test('turns: an id that would lead to another path, and an after that is not the id of an event, are refused', async () => {
    await using server = await startScriptedServer(json(200, wireTurn))
    const { turns } = server.client()
    await assert.rejects(turns.get('..'), TurnkeepError)
    await assert.rejects(turns.cancel(''), TurnkeepError)
    assert.throws(() => turns.stream('.'), TurnkeepError)
    for (const after of ['', 'a b', 'a\nb', 'é']) assert.throws(() => turns.stream(requestId, { after }), TurnkeepError)
    assert.equal(server.requests.length, 0)
  })

  void test('turns: a stream starts with all the text so far, and one that breaks is continued', async () => {
    await using server = await startScriptedServer(
      refused(503, 'service_unavailable', soon),
      streamedWithIds(['Hello'], 'reset'),
      continued(5, [' Ann', { completed: 'Hello Ann' }]),
    )
    const stream = server.client().turns.stream(requestId)
    assert.deepEqual(await texts(stream), ['(created)', 'Hello', ' Ann', '(completed)'])
    assert.equal((await stream.completed).message.content, 'Hello Ann')
    assert.deepEqual(server.asked, [`GET ${path}/stream`, `GET ${path}/stream`, `GET ${path}/stream at-5`])
  })

  void test('turns: after an event, only what follows is emitted, also if the stream breaks or the service resets the text', async () => {
    await using server = await startScriptedServer(
      continued(3, ['l'], 'reset'),
      continued(4, ['o', { completed: 'Hello' }]),
      continued(3, ['reset', 'Bye', { completed: 'Bye' }]),
      refused(422, 'validation_error'),
    )
    const { turns } = server.client()
    assert.deepEqual(await texts(turns.stream(requestId, { after: 'at-3' })), ['l', 'o', '(completed)'])
    assert.deepEqual(await texts(turns.stream(requestId, { after: 'at-3' })), ['(reset)', 'Bye', '(completed)'])
    await assert.rejects(texts(turns.stream(requestId, { after: 'x' })), ValidationError)
    assert.deepEqual(
      server.asked,
      ['at-3', 'at-4', 'at-3', 'x'].map((id) => `GET ${path}/stream ${id}`),
    )
  })

  void test('turns: after the last event nothing is emitted, and completed is the reply or the error of the turn', async () => {
    await using server = await startScriptedServer(
      empty(204),
      json(200, completedTurn),
      empty(204),
      json(200, failedTurn('failed', 'internal_error')),
    )
    const { turns } = server.client()
    const stream = turns.stream(requestId, { after: 'end' })
    assert.deepEqual(await texts(stream), [])
    assert.equal(await stream.text(), 'Hello')
    await assert.rejects(texts(turns.stream(requestId, { after: 'end' })), { code: 'internal_error', status: 500, requestId })
    assert.equal(server.requests.length, 4)
  })

  void test('turns: a released turn is the error that released it, and is not waited for', async () => {
    await using server = await startScriptedServer(
      streamedWithIds(['Hel', { error: 'service_unavailable' }]),
      json(200, failedTurn('released', 'service_unavailable')),
    )
    await assert.rejects(texts(server.client().turns.stream(requestId)), ServiceUnavailableError)
    assert.deepEqual(server.asked, [`GET ${path}/stream`, `GET ${path}`])
  })

  void test('turns: a process that stops ends its stream with an error, and the turn is continued at another one', async () => {
    await using server = await startScriptedServer(
      streamedWithIds(['Hel', { error: 'service_unavailable' }]),
      json(200, wireTurn),
      continued(3, ['lo', { completed: 'Hello' }]),
    )
    assert.deepEqual(await texts(server.client().turns.stream(requestId)), ['(created)', 'Hel', 'lo', '(completed)'])
  })

  void test('turns: an unknown turn is a NotFoundError, and a service without event ids is read again from the beginning', async () => {
    await using server = await startScriptedServer(
      refused(404, 'not_found'),
      streamed(['Hel'], 'reset'),
      streamed(['Hello', { completed: 'Hello' }]),
    )
    const { turns } = server.client()
    await assert.rejects(texts(turns.stream(requestId)), NotFoundError)
    assert.deepEqual(await texts(turns.stream(requestId)), ['(created)', 'Hel', 'lo', '(completed)'])
  })

  void test('turns: cancel is sent without a body, is repeated after a failure, and returns the turn', async () => {
    const cancelled = { ...completedTurn, cancel_requested: true, message: { ...wireMessage, incomplete: true } }
    await using server = await startScriptedServer(refused(503, 'service_unavailable', soon), json(200, cancelled))
    const turn = await server.client().turns.cancel(requestId)
    assert.deepEqual([turn.status, turn.cancelRequested, turn.message?.incomplete], ['completed', true, true])
    assert.deepEqual(server.asked, Array(2).fill(`POST ${path}/cancel`))
    assert.deepEqual(
      server.requests.map(({ body, headers }) => [body, headers['content-type']]),
      [
        ['', undefined],
        ['', undefined],
      ],
    )
  })

  void test('turns: feedback sends the fields that are given, and returns what is stored', async () => {
    const stored = { request_id: requestId, rating: 'down', comment: null, tags: ['wrong'], created_at: 't1', updated_at: 't2' }
    await using server = await startScriptedServer(json(200, stored))
    const { turns } = server.client()
    assert.deepEqual(await turns.feedback(requestId, { rating: 'down', tags: ['wrong'] }), {
      requestId,
      rating: 'down',
      comment: null,
      tags: ['wrong'],
      createdAt: 't1',
      updatedAt: 't2',
    })
    await turns.feedback(requestId, { rating: 'up', comment: 'Good.' })
    assert.deepEqual(
      server.requests.map(({ body }) => body),
      ['{"rating":"down","tags":["wrong"]}', '{"rating":"up","comment":"Good."}'],
    )
    assert.equal(server.asked[0], `POST ${path}/feedback`)
  })

  void test('background: the turn that started, or the reply of a replay; the header is sent only if it is requested', async () => {
    const started = { request_id: requestId, conversation_id: 'conv_1', status: 'running' }
    await using server = await startScriptedServer(
      refused(503, 'service_unavailable', soon),
      json(202, started),
      replied('Hello'),
      replied(),
    )
    const client = server.client()
    assert.deepEqual(await client.chat(message, { background: true, idempotencyKey: 'k' }), {
      requestId,
      conversationId: 'conv_1',
      status: 'running',
    })
    const replay = await client.chat(message, { background: true, idempotencyKey: 'k' })
    assert.equal(replay.status === 'completed' && replay.message.content, 'Hello')
    const waited: ChatReply = await client.chat(message, { background: false })
    assert.ok(!('status' in waited))
    assert.deepEqual(
      server.requests.map(({ headers }) => headers['prefer']),
      ['respond-async', 'respond-async', 'respond-async', undefined],
    )
    assert.deepEqual(server.keys.slice(0, 3), ['k', 'k', 'k'])
  })

  void test('background: a 202 that was not requested, and one that is not from the service, are errors', async () => {
    await using server = await startScriptedServer(
      json(202, { request_id: requestId, conversation_id: 'c', status: 'running' }),
      json(202, {}),
    )
    const client = server.client({ maxRetries: 0 })
    await assert.rejects(client.chat(message), { name: 'APIError', status: 202 })
    await assert.rejects(client.chat(message, { background: true }), APIConnectionError)
  })
})
