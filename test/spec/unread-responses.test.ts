/** `overload.unread`: responses that their callers do not read, or read slowly, over real sockets. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ApiError } from '../../src/errors.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { apiKey, startTestLayer, storedReply } from '../support/test-http-layer.ts'
import type { TestLayer, TestLayerOptions } from '../support/test-http-layer.ts'

const mebibyte = 1024 * 1024
// More than the kernel's buffers of a connection take, so that most of it waits in the process.
const large = 16 * mebibyte
const page = '/v1/agents/agt_door/conversations/conv_door/messages'

/** A layer with pages of messages of this size, and how many of them have been read. */
async function startPages(bytes: number, options: TestLayerOptions = {}): Promise<TestLayer & { reads: () => number }> {
  let reads = 0
  const message = { id: 'msg_1', role: 'user' as const, content: 'x'.repeat(bytes), createdAt: 0, requestId: randomUUID(), cutOff: false }
  const layer = await startTestLayer({
    authenticate: (authorization) => ({ kind: 'authenticated', apiKey: { ...apiKey, id: String(authorization) } }),
    conversations: {
      idOf: async () => undefined,
      list: async () => ({ data: [], nextCursor: null }),
      async messages({ mayRead }) {
        if (!mayRead()) throw new ApiError('service_unavailable')
        reads++
        return { kind: 'found', data: [message], nextCursor: null }
      },
    },
    ...options,
  })
  return Object.assign(layer, { reads: () => reads })
}

async function askUnread(layer: TestLayer, key: string): Promise<RawSocket> {
  const raw = await RawSocket.open(layer.port)
  raw.socket.pause()
  raw.write(`GET ${page} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`)
  return raw
}

const ask = (layer: TestLayer, key: string): Promise<Response> => fetch(layer.url + page, { headers: { authorization: key } })

void test('overload.unread rate.headers: a key with 8 MiB unread gets 503 instead of another page, until it has read; others are served', async () => {
  await using layer = await startPages(large)
  using unread = await askUnread(layer, 'a')
  while (layer.reads() === 0) await pass(5)
  const refused = await ask(layer, 'a')
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), refused.headers.get('x-ratelimit-limit')], [503, '5', null])
  assert.equal(((await refused.json()) as any).error.code, 'service_unavailable')
  assert.equal(layer.reads(), 1, 'a page that would not be sent is not read')
  assert.equal((await (await ask(layer, 'b')).arrayBuffer()).byteLength > large, true)
  unread.socket.resume()
  while ((await ask(layer, 'a').then(async (answer) => (await answer.arrayBuffer(), answer.status))) === 503) await pass(5)
  assert.equal(unread.answers[0]!.status, 200)
})

void test('overload.unread: a reply on /chat, and the end of a stream, count, too: they are refused, and the same key gets the reply later', async () => {
  await using layer = await startPages(large, { begin: ({ message }) => ({ kind: 'replay', reply: storedReply(message.repeat(100_000)) }) })
  const headers = { authorization: 'a' }
  using unread = await askUnread(layer, 'a')
  while (layer.reads() === 0) await pass(5)
  const refused = await layer.chat({ headers })
  assert.deepEqual([refused.status, refused.headers.get('x-ratelimit-limit')], [503, null])
  const error = ((await refused.json()) as any).error
  assert.deepEqual([error.code, error.request_id], ['service_unavailable', refused.headers.get('x-request-id')])
  const events = await (await layer.chat({ headers, path: '/v1/agents/agt_door/chat/stream' })).text()
  assert.match(events, /^event: response\.created\nid: 0-0\ndata: .*\n\nevent: error\nid: 0-0\ndata: \{"code":"service_unavailable".*\n\n$/)
  const completion = await fetch(`${layer.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'agt_door', stream: true, user: 'ann', messages: [{ role: 'user', content: 'hello' }] }),
  })
  const chunks = await completion.text()
  assert.match(chunks, /^data: \{"error":\{.*"code":"service_unavailable".*\n\n$/m)
  assert.doesNotMatch(chunks, /\[DONE\]/)
  unread.socket.destroy()
  while ((await layer.chat({ headers }).then(async (answer) => (await answer.arrayBuffer(), answer.status))) === 503) await pass(5)
  assert.match(await (await layer.chat({ headers, path: '/v1/agents/agt_door/chat/stream' })).text(), /response\.completed/)
})

void test('overload.unread: all keys together have 64 MiB unread, and a key without an unread response gets one all the same', async () => {
  await using layer = await startPages(large)
  const sockets: RawSocket[] = []
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) sockets.push(await askUnread(layer, key))
  while (layer.reads() < 6) await pass(5)
  assert.equal((await ask(layer, 'a')).status, 503)
  const answer = await ask(layer, 'g')
  assert.equal(answer.status, 200)
  await answer.arrayBuffer()
  for (const { socket } of sockets) socket.destroy()
})

/** Reads until about this much has arrived, or the connection has ended, and pauses the socket. */
async function readUntil(raw: RawSocket, goal: number): Promise<void> {
  const read = (): void => void (raw.bytes >= goal && raw.socket.pause())
  raw.socket.on('data', read).resume()
  while (raw.bytes < goal && !raw.socket.destroyed && !raw.ended) await pass(2)
  raw.socket.off('data', read).pause()
}

void test('fault.slow-reader overload.unread: a page that is not read is cut off, and so is one that is read too slowly; a fast reader is not', async () => {
  const whole = 2 * large
  await using layer = await startPages(whole, { times: { stallMs: 3000, minBytesPerSecond: 64 * mebibyte } })
  using still = await askUnread(layer, 'still')
  using slow = await askUnread(layer, 'slow')
  using fast = await askUnread(layer, 'fast')
  await readUntil(fast, whole)
  // At this rate all of it would need 12 s, and 3.5 are allowed. Something is read within each stall.
  while (slow.bytes < whole && !slow.ended && !slow.socket.destroyed)
    await readUntil(slow, Math.min(whole, slow.bytes + mebibyte / 2)).then(() => pass(200))
  // What the kernel had taken is still received after the server has disconnected them.
  for (const raw of [still, slow]) {
    raw.socket.resume()
    assert.equal(await Promise.race([raw.rest().then(() => 'disconnected'), pass(20_000, 'connected', { ref: false })]), 'disconnected')
    assert.ok(raw.bytes < whole, `${raw.bytes} bytes`)
  }
})
