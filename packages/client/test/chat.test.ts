/** One message over a real connection with all its faults: what is sent again, with which key, and what the call returns in the end. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  ServiceUnavailableError,
} from '../src/client.ts'
import { html, json, refused, replied, requestId, reset, silence, soon, startScriptedServer, wireReply } from './scripted-server.ts'
import type { Script } from './scripted-server.ts'

const message = { externalUserId: 'ann', message: 'Hello' }
const oneKey = (keys: (string | undefined)[]): void => assert.ok(keys[0] && keys.every((key) => key === keys[0]), keys.join(', '))

void describe('chat', { concurrency: 8 }, () => {
  void test('chat: the message is sent as specified, and its reply has camelCase names', async () => {
    await using server = await startScriptedServer(replied('Hi.'))
    assert.deepEqual(await server.client().chat(message), {
      requestId,
      conversationId: 'conv_1',
      message: { id: 'msg_1', role: 'assistant', content: 'Hi.', createdAt: '2026-11-21T14:11:58.332Z' },
      usage: { promptTokens: 604, completionTokens: 226, totalTokens: 830, chargedUsd: '0.00022620' },
    })
    const [{ method, url, headers, body }] = server.requests as [(typeof server.requests)[0]]
    assert.deepEqual([method, url, body], ['POST', '/v1/agents/agt_1/chat', '{"external_user_id":"ann","message":"Hello"}'])
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['user-agent'], 'turnkeep-client/0.1.0 (js)')
    assert.match(String(headers['idempotency-key']), /^[\da-f]{8}-[\da-f]{4}-[47][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  })

  void test('chat: every temporary failure is retried with the same key, on reused connections', async () => {
    const passing = ['service_unavailable', 'api_rate_limit_unavailable', 'rate_limit_exceeded', 'conversation_busy']
    await using server = await startScriptedServer(
      ...passing.map((code) => refused(503, code, soon)),
      refused(409, 'idempotency_in_progress', soon),
      html(502, soon),
      html(504, soon),
      html(429, soon),
      json(503, { error: { code: 'no_upstream', message: 'An envelope of a proxy.' } }, soon),
      replied('At last.'),
    )
    assert.equal((await server.client().chat(message)).message.content, 'At last.')
    assert.equal(server.requests.length, 10)
    oneKey(server.keys)
    assert.equal(new Set(server.requests.map(({ body }) => body)).size, 1)
    assert.equal(new Set(server.requests.map(({ port }) => port)).size, 1)
  })

  void test('chat: a broken connection, and a 200 that is cut off or not from the service, are retried', async () => {
    const cutOff: Script = (response) =>
      response.writeHead(200, { 'content-length': '999' }).write('{"request_id":', () => response.socket?.destroy())
    const passing = [[reset, cutOff], [html(200)], [json(200, { ...wireReply(), usage: {} })]]
    await Promise.all(
      passing.map(async (failures) => {
        await using server = await startScriptedServer(...failures, replied('Whole.'))
        assert.equal((await server.client().chat(message)).message.content, 'Whole.')
        assert.equal(server.requests.length, failures.length + 1)
        oneKey(server.keys)
      }),
    )
  })

  void test('chat: if only a proxy answers 200, the error says so and contains the key', async () => {
    await using server = await startScriptedServer(html(200))
    await assert.rejects(server.client().chat(message, { maxRetries: 1, idempotencyKey: 'k' }), (error) => {
      assert.ok(error instanceof APIConnectionError)
      assert.match(error.message, /200 \(text\/html\).*not the service's/)
      assert.equal(error.idempotencyKey, 'k')
      return true
    })
    assert.deepEqual(server.keys, ['k', 'k'])
  })

  void test('chat: a permanent refusal is thrown immediately, as the class of its status with all fields of the response', async () => {
    await using server = await startScriptedServer(
      refused(409, 'idempotency_conflict', { 'retry-after': '7' }),
      refused(500, 'internal_error'),
    )
    const client = server.client()
    await assert.rejects(client.chat(message, { idempotencyKey: 'k' }), (error) => {
      assert.ok(error instanceof ConflictError)
      const { code, status, retryAfter, idempotencyKey } = error
      assert.deepEqual([code, status, error.requestId, retryAfter, idempotencyKey], ['idempotency_conflict', 409, requestId, 7, 'k'])
      assert.equal(error.message, '409 idempotency_conflict: In words.')
      return true
    })
    await assert.rejects(client.chat(message), InternalServerError)
    assert.equal(server.requests.length, 2)
  })

  void test('chat: a permanent error from something other than the service is thrown immediately, with its status and without a code', async () => {
    await using server = await startScriptedServer()
    let asked = 0
    const proxy: typeof fetch = async () => {
      asked++
      return new Response('<h1>Not here</h1>', { status: 404, headers: { 'x-request-id': 'of-the-proxy' } })
    }
    await assert.rejects(server.client({ fetch: proxy }).chat(message), (error) => {
      assert.ok(error instanceof NotFoundError)
      assert.deepEqual([error.code, error.status, error.requestId], [undefined, 404, 'of-the-proxy'])
      return true
    })
    assert.equal(asked, 1)
  })

  void test('chat: a redirect is never followed', async () => {
    await using other = await startScriptedServer(replied())
    await using server = await startScriptedServer((response) => response.writeHead(307, { location: `${other.url}/` }).end())
    await assert.rejects(server.client().chat(message), (error) => error instanceof APIError && /redirect/.test(error.message))
    assert.deepEqual([server.requests.length, other.requests.length], [1, 0])
  })

  void test('chat: maxRetries counts failures and not the waits for a running turn', async () => {
    const running = refused(409, 'idempotency_in_progress', soon)
    const down = refused(503, 'service_unavailable', soon)
    await using server = await startScriptedServer(down, running, running, refused(409, 'conversation_busy', soon), down, running, down)
    await assert.rejects(server.client({ maxRetries: 2 }).chat(message), ServiceUnavailableError)
    assert.equal(server.requests.length, 7)
    await using calm = await startScriptedServer(running, running, running, replied())
    await calm.client({ maxRetries: 0 }).chat(message)
  })

  void test('chat: a wait that would end after maxWait is not started: the last error is thrown', async () => {
    await using server = await startScriptedServer(refused(429, 'rate_limit_exceeded', { 'retry-after': '3600' }))
    await assert.rejects(server.client().chat(message), (error) => error instanceof RateLimitError && error.retryAfter === 3_600)
    await using busy = await startScriptedServer(refused(409, 'conversation_busy', { 'retry-after': '2' }))
    await assert.rejects(busy.client().chat(message, { maxWait: 1_999 }), ConflictError)
    assert.deepEqual([server.requests.length, busy.requests.length], [1, 1])
  })

  void test('chat: Retry-After may be a date', async () => {
    await using server = await startScriptedServer(
      refused(503, 'service_unavailable', { 'retry-after': new Date(Date.now() - 60_000).toUTCString() }),
      refused(503, 'service_unavailable', { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }),
    )
    await assert.rejects(server.client().chat(message), (error) => {
      assert.ok(error instanceof ServiceUnavailableError)
      return error.retryAfter !== undefined && error.retryAfter > 3_500 && error.retryAfter <= 3_600
    })
    assert.equal(server.requests.length, 2)
  })

  void test('chat: an attempt without a response in time is aborted, its connection too, and retried', async () => {
    await using server = await startScriptedServer(silence, replied('Now.'))
    assert.equal((await server.client().chat(message, { timeout: 100 })).message.content, 'Now.')
    await server.requests[0]?.closed
    oneKey(server.keys)
    await using mute = await startScriptedServer(silence)
    await assert.rejects(mute.client().chat(message, { timeout: 50, maxRetries: 0 }), (error) => {
      assert.ok(error instanceof APIConnectionTimeoutError && error instanceof APIConnectionError)
      assert.ok(error.idempotencyKey)
      return true
    })
  })

  void test('chat: the end of maxWait aborts a running attempt', async () => {
    await using server = await startScriptedServer()
    const signals: (AbortSignal | null | undefined)[] = []
    const never: typeof fetch = (_, init) => new Promise(() => signals.push(init?.signal))
    await assert.rejects(server.client({ fetch: never }).chat(message, { maxWait: 60 }), APIConnectionTimeoutError)
    assert.deepEqual(
      signals.map((signal) => signal?.aborted),
      [true],
    )
  })

  void test('chat: a refused connection is reported with its reason', async () => {
    const gone = createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const { port } = gone.address() as AddressInfo
    await new Promise((resolve) => gone.close(resolve))
    await using server = await startScriptedServer()
    const client = server.client({ baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 })
    await assert.rejects(client.chat(message), (error) => error instanceof APIConnectionError && /ECONNREFUSED/.test(error.message))
  })

  void test('chat: a signal ends an attempt and a wait immediately, and a call before anything is sent', async () => {
    const ended = (error: unknown): boolean =>
      error instanceof APIUserAbortError && error.cause === 'enough' && error.idempotencyKey !== undefined
    const during = new AbortController()
    await using server = await startScriptedServer(() => during.abort('enough'))
    await assert.rejects(server.client().chat(message, { signal: during.signal }), ended)
    await server.requests[0]?.closed

    const before = AbortSignal.abort('enough')
    const unasked: typeof fetch = () => assert.fail('asked after the end')
    await assert.rejects(server.client({ fetch: unasked }).chat(message, { signal: before }), ended)

    const waiting = new AbortController()
    await using down = await startScriptedServer(refused(503, 'service_unavailable', { 'retry-after': '200' }))
    const answered: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      // Long after this response was read, and long before the end of its wait.
      setTimeout(() => waiting.abort('enough'), 100)
      return response
    }
    await assert.rejects(down.client({ fetch: answered }).chat(message, { signal: waiting.signal }), ended)
    assert.equal(down.requests.length, 1)
  })

  void test('chat: rateLimit has the values of the last response that contained them', async () => {
    const headers = { 'x-ratelimit-limit': '120', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795265825' }
    await using server = await startScriptedServer(
      replied('', headers),
      replied(),
      replied('', { ...headers, 'x-ratelimit-limit': 'many' }),
    )
    const client = server.client()
    assert.equal(client.rateLimit, undefined)
    for (let call = 0; call < 3; call++) {
      await client.chat(message)
      assert.deepEqual(client.rateLimit, { limit: 120, remaining: 0, resetAt: new Date(1_795_265_825_000) })
    }
  })

  void test('chat: baseURL may have a path and a trailing slash; an agent ID is one segment of it', async () => {
    await using server = await startScriptedServer(replied())
    await server.client({ baseURL: `${server.url}/behind/a proxy/`, agentId: 'agt/1 ?#' }).chat(message)
    assert.equal(server.requests[0]?.url, '/behind/a%20proxy/v1/agents/agt%2F1%20%3F%23/chat')
  })

  void test('chat: any exception of a custom fetch is reported as a broken connection', async () => {
    await using server = await startScriptedServer()
    const failing = (): never => {
      throw new Error('no network here')
    }
    const client = server.client({ fetch: failing, maxRetries: 0 })
    await assert.rejects(client.chat(message), (error) => error instanceof APIConnectionError && /no network here/.test(error.message))
  })
})
