/**
 * A refusal with an unread body closes the connection (`order.rate-limit`, `order.body-size`). The caller can read the response, and the
 * server reads no more than a body may have. Over raw sockets that keep sending.
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { RawSocket } from '../support/raw-socket.ts'
import { body, chatPath, figures, startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayerOptions } from '../support/test-http-layer.ts'

const mebibyte = 1_048_576
const pushed = 200 * mebibyte
const piece = Buffer.alloc(65_536, 'x')
const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])

const head = (headers: string, path = chatPath): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n${headers}\r\n`
const known = `Content-Length: ${pushed}\r\n`
const chunked = 'Transfer-Encoding: chunked\r\n'

/** Sends until the connection is gone; returns what the caller could read and how much the server read: kernel buffers do not count. */
async function push(port: number, bytes: string, more: Buffer, most = pushed): Promise<{ raw: RawSocket; read: number }> {
  const served = new Map<number | undefined, Socket>()
  const onServed = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    served.set(socket.remotePort, socket)
  }
  subscribe('net.server.socket', onServed)
  const raw = await RawSocket.open(port)
  const ours = raw.socket.localPort
  let sent = 0
  const goOn = (): void => {
    while (sent < most && !raw.socket.destroyed) {
      sent += more.length
      if (!raw.write(more)) return
    }
  }
  raw.socket.on('drain', goOn)
  raw.write(bytes)
  goOn()
  await raw.closed
  unsubscribe('net.server.socket', onServed)
  return { raw, read: served.get(ours)!.bytesRead }
}

const refusals: [status: number, options: TestLayerOptions, headers: string, path?: string][] = [
  [401, { authenticate: () => ({ kind: 'invalid_api_key' }) }, known],
  [401, { authenticate: () => ({ kind: 'invalid_api_key' }) }, chunked],
  [429, { spend: () => ({ kind: 'exceeded', figures, retryAfterSeconds: 9 }) }, known],
  [503, { spend: () => ({ kind: 'unavailable' }) }, chunked],
  [413, {}, known],
  [413, {}, chunked],
  [404, {}, known, '/v1/nothing'],
  [405, {}, chunked, '/healthz'],
]

// Together: each connection is held open for two seconds.
void describe('order.rate-limit, order.body-size: a caller that keeps sending', { concurrency: true }, () => {
  for (const [status, options, headers, path] of refusals) {
    void test(`200 MB sent behind a ${status} (${headers.slice(0, 8)}…): the response arrives, at most 1 MiB is read`, async () => {
      await using layer = await startTestLayer(options)
      const { raw, read } = await push(layer.port, head(headers, path), headers === chunked ? chunk : piece)
      assert.ok(raw.ended, 'FIN came before any reset')
      assert.deepEqual([raw.answers.length, raw.answers[0]?.status], [1, status])
      assert.equal(raw.answers[0]!.headers['connection'], 'close')
      assert.equal(raw.answers[0]!.headers['x-request-id'], raw.answers[0]!.json.error.request_id)
      // What the kernel had delivered before the response was written, and one read more than the limit.
      assert.ok(read <= mebibyte + 4 * 65_536, `${read} bytes were read`)
    })
  }

  for (const [what, headers, more] of [
    ['1 GB', 'Content-Length: 1000000000\r\n', piece],
    ['chunks without end', chunked, chunk],
  ] as const) {
    void test(`fault.body-too-large order.body-size: ${what}: 413, at most 1 MiB is read, the connection is closed, and no turn starts`, async () => {
      await using layer = await startTestLayer()
      const { raw, read } = await push(layer.port, head(headers), more, Infinity)
      assert.ok(raw.ended, 'FIN came before any reset')
      assert.deepEqual([raw.answers.length, raw.answers[0]?.status], [1, 413])
      assert.deepEqual(raw.answers[0]!.json.error.code, 'payload_too_large')
      assert.ok(read <= mebibyte + 4 * 65_536, `${read} bytes were read`)
      assert.deepEqual(layer.started, [])
      assert.equal((await layer.chat()).status, 200, 'and others are served')
    })
  }

  void test('200 MB behind bytes that are not an HTTP request: at most 1 MiB is read', async () => {
    await using layer = await startTestLayer()
    const { raw, read } = await push(layer.port, 'garbage\r\n\r\n', piece)
    assert.deepEqual([raw.ended, raw.answers[0]?.status], [true, 400])
    assert.ok(read <= mebibyte + 4 * 65_536, `${read} bytes were read`)
  })

  void test('a body on a GET is not read', async () => {
    await using layer = await startTestLayer()
    const { raw, read } = await push(layer.port, `GET /healthz HTTP/1.1\r\nHost: x\r\n${known}\r\n`, piece)
    assert.deepEqual([raw.ended, raw.answers[0]?.status, raw.answers[0]?.headers['connection']], [true, 200, 'close'])
    assert.ok(read <= mebibyte + 4 * 65_536, `${read} bytes were read`)
  })
})

void test('order.rate-limit: a refused body of the usual size is read in full, so that the caller gets no reset', async () => {
  await using layer = await startTestLayer({ authenticate: () => ({ kind: 'invalid_api_key' }) })
  using raw = await RawSocket.open(layer.port)
  raw.write(head('Content-Length: 1000000\r\n'))
  await raw.rest()
  assert.equal(raw.answers[0]!.status, 401)
  for (let sent = 0; sent < 1_000_000; sent += 50_000) await new Promise((resolve) => raw.socket.write(Buffer.alloc(50_000), resolve))
  raw.socket.end()
  await raw.closed
  assert.equal(raw.socket.errored, null)
})

void test('order.rate-limit: a request behind a refused body is not run', async () => {
  await using layer = await startTestLayer({ spend: () => ({ kind: 'exceeded', figures, retryAfterSeconds: 9 }) })
  using raw = await RawSocket.open(layer.port)
  raw.write(head('Content-Length: 10\r\n'))
  await raw.rest()
  raw.write(`0123456789${head(`Content-Length: ${body().length}\r\n`)}${body()}`)
  raw.socket.end()
  await raw.closed
  assert.equal(raw.answers.length, 1)
  assert.equal(layer.spent, 1)
})

void test('order.rate-limit: a refused body that has already arrived does not close the connection', async () => {
  await using layer = await startTestLayer()
  using raw = await RawSocket.open(layer.port)
  const [nothing, bad] = [head('Content-Length: 5\r\n', '/v1/nothing'), head('Content-Length: 5\r\n').replace('good', 'bad')]
  raw.write(`${nothing}hello${bad}hello${head('Content-Length: 1\r\n')}{`)
  await raw.until('"validation_error"')
  assert.deepEqual(
    raw.answers.map(({ status, headers }) => [status, headers['connection']]),
    [
      [404, 'keep-alive'],
      [401, 'keep-alive'],
      [422, 'keep-alive'],
    ],
  )
})

void test('order.rate-limit: Expect: 100-continue is continued only when the body will be read', async () => {
  await using layer = await startTestLayer()
  const length = `Content-Length: ${body().length}\r\n`
  using wanted = await RawSocket.open(layer.port)
  wanted.write(head(`Expect: 100-continue\r\n${length}`))
  await wanted.until('100 Continue\r\n\r\n')
  wanted.write(body())
  await wanted.until('"conv_door"')
  assert.deepEqual(
    wanted.answers.map(({ status }) => status),
    [100, 200],
  )
  using refused = await RawSocket.open(layer.port)
  refused.write(head(`Expect: 100-continue\r\n${length}`).replace('good', 'bad'))
  await refused.rest()
  assert.deepEqual(
    refused.answers.map(({ status }) => status),
    [401],
  )
})
