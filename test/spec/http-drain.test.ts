/** The HTTP layer during a drain: new connections are refused, idle ones end, and running requests finish. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { changeRows } from '../support/change-rows.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import { ScriptedTurn, body, chatPath, startTestLayer } from '../support/test-http-layer.ts'

const chat = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: ${body().length}\r\n\r\n${body()}`

void test('drain: a running reply and a running stream finish, then their connections end', async () => {
  const turns = [new ScriptedTurn(), new ScriptedTurn()]
  const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let at = 0
  await using layer = await startTestLayer({
    begin() {
      started[at]!.resolve()
      return turns[at++]!.started
    },
  })
  using waiting = await RawSocket.open(layer.port)
  waiting.write(chat(chatPath))
  await started[0]!.promise
  using streaming = await RawSocket.open(layer.port)
  streaming.write(chat(`${chatPath}/stream`))
  await streaming.until('response.created')
  let closed = false
  const closing = layer.close().then(() => (closed = true))
  const refused = connect(layer.port, '127.0.0.1')
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNREFUSED')
  for (const turn of turns) turn.say('whole')
  assert.equal(closed, false)
  for (const turn of turns) turn.complete()
  await Promise.all([closing, waiting.rest(), streaming.rest()])
  assert.equal(waiting.answers[0]!.json.message.content, 'whole')
  assert.match(streaming.answers[0]!.body, /event: response\.completed\nid: end\ndata: .*\n\n$/)
})

void test('drain: idle connections and connections without a request end immediately', async () => {
  await using layer = await startTestLayer()
  using idle = await RawSocket.open(layer.port)
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await idle.until('alive')
  using silent = await RawSocket.open(layer.port)
  await layer.close()
  await Promise.all([idle.rest(), silent.rest()])
})

void test('drain: a CSV download that is not read does not delay its end, and is broken off', async () => {
  await using app = await startTestApp()
  // More than the kernel's buffers of a connection take.
  const name = 'x'.repeat(16 * 1024 * 1024)
  await changeRows(
    app,
    `insert into audit values ('aud_x', 'operator', 'opr_x', '${name}', 'create', 'owner', 'own_x', '[]', null, 'req_x', 0)`,
  )
  using unread = await RawSocket.open(Number(new URL(app.adminUrl).port))
  unread.write(`GET /admin/v1/audit HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\nAccept: text/csv\r\n\r\n`)
  await unread.until('HTTP/1.1 200 OK')
  unread.socket.pause()
  await app.close()
  unread.socket.resume()
  assert.doesNotMatch((await unread.rest()).slice(-5), /\n0\r\n\r\n$/, 'what is missing can be noticed')
})

void test('readyz: 503 while draining, else 200 whatever the state of store and limiter; the body has both states', async () => {
  let draining = false
  await using layer = await startTestLayer({ ready: async () => ({ draining, store: 'unavailable', limiter: 'ok' }) })
  const ask = async (): Promise<unknown[]> => {
    const response = await fetch(`${layer.url}/readyz`)
    return [response.status, await response.json()]
  }
  const note = 'Messages are answered with 503 and Retry-After until the store and the limiter are available again.'
  assert.deepEqual(await ask(), [200, { status: 'ready', store: 'unavailable', limiter: 'ok', note }])
  draining = true
  assert.deepEqual(await ask(), [503, { status: 'draining', store: 'unavailable', limiter: 'ok' }])
})

void test('drain: a request on an open connection still reaches the turn module, which refuses it with the envelope', async () => {
  const turn = new ScriptedTurn()
  const came = Promise.withResolvers<void>()
  await using layer = await startTestLayer({
    begin() {
      if (layer.started.length === 1) return turn.started
      came.resolve()
      return { kind: 'refused', code: 'service_unavailable' }
    },
  })
  using raw = await RawSocket.open(layer.port)
  raw.write(chat(`${chatPath}/stream`))
  await raw.until('response.created')
  const closing = layer.close()
  raw.write(chat(chatPath))
  await came.promise
  turn.complete()
  await Promise.all([closing, raw.rest()])
  assert.match(raw.answers[0]!.body, /response\.completed/)
  assert.deepEqual([raw.answers[1]?.status, raw.answers[1]?.json.error.code], [503, 'service_unavailable'])
  assert.equal(raw.answers[1]!.headers['connection'], 'close')
})

void test("listen: a port in use fails with the listener's error", async () => {
  await using layer = await startTestLayer()
  const { createHttpLayer } = await import('../../src/http/http.ts')
  const { pino } = await import('pino')
  const ready = async () => ({ draining: false, store: 'ok', limiter: 'ok' }) as const
  const { createMetrics } = await import('../../src/observability/metrics.ts')
  const second = await createHttpLayer({ log: pino({ level: 'silent' }), metrics: createMetrics(), newRequestId: () => 'id', ready })
  await assert.rejects(second.listen(layer.port, '127.0.0.1'), { code: 'EADDRINUSE', syscall: 'listen' })
  await second.close()
})
