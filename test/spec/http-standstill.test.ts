/**
 * A process that was stopped or blocked for longer than its request timeouts: a request that arrived completely meanwhile is read and
 * served, one that arrived in part is asked to retry, and neither is told that it was slow. Over raw sockets. `fault.event-loop-blocked`,
 * `fault.slow-requests`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { RawSocket } from '../support/raw-socket.ts'
import { body, chatPath, startTestLayer } from '../support/test-http-layer.ts'

const authorized = 'Host: x\r\nConnection: close\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n'
const chat = `POST ${chatPath} HTTP/1.1\r\n${authorized}Content-Length: ${body().length}\r\n\r\n${body()}`

void test('fault.event-loop-blocked unavailable.unknown: a request that arrived in part while the process stood still is 503, not 400 or 408', async () => {
  await using layer = await startTestLayer({ times: { headersMs: 1000 } })
  const blocked = new Int32Array(new SharedArrayBuffer(4))
  const caller = new Worker(callerBesideABlockedLoop, { eval: true, workerData: { port: layer.port, bytes: chat.slice(0, 40), blocked } })
  await once(caller, 'message')
  Atomics.store(blocked, 0, 1)
  Atomics.notify(blocked, 0)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
  const [text] = (await once(caller, 'message')) as [string]
  assert.match(text, /^HTTP\/1\.1 503 /)
  assert.match(text, /\r\nretry-after: \d+\r\n/)
  assert.match(text, /"code":"service_unavailable"/)
})

/** Its connection is accepted before the loop blocks; what it sends arrives after that. */
const callerBesideABlockedLoop = `
const { parentPort, workerData: { port, bytes, blocked } } = require('node:worker_threads')
const socket = require('node:net').connect(port, '127.0.0.1', () => setTimeout(() => {
  parentPort.postMessage('connected')
  Atomics.wait(blocked, 0, 0)
  socket.write(bytes)
}, 200))
let text = ''
socket.setEncoding('utf8').on('data', (more) => (text += more)).on('end', () => parentPort.postMessage(text))`

void test('fault.event-loop-blocked fault.slow-requests order.request-id: a request that arrived in time is read, however long the process stood still', async () => {
  await using layer = await startTestLayer({ times: { headersMs: 500, requestMs: 700 } })
  for (const [title, early] of [
    ['a whole request', ''],
    ['the rest of a body', chat.slice(0, -10)],
  ] as const) {
    for (let isInTime = false; !isInTime;) {
      const from = performance.now()
      using raw = await RawSocket.open(layer.port)
      raw.write(early === '' ? '\r\n' : early)
      // Accepted and read up to here.
      await pass(20)
      // After this round's reads, so that the next round starts with its timeouts.
      await new Promise((resolve) => setImmediate(resolve))
      // On a busy machine, its first part may be too late already.
      isInTime = performance.now() - from < 300
      if (!isInTime) continue
      raw.write(chat.slice(early.length))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1300)
      await raw.rest()
      assert.deepEqual(
        raw.answers.map(({ status }) => status),
        [200],
        title,
      )
    }
  }
})
