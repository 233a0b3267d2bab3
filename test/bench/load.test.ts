/** The load client against a real server that responds wrongly in every way: only complete replies count as turns. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { firstToken, lastToken } from '../../bench/call.ts'
import { openLoadClients } from '../../bench/load.ts'
import type { Call, LoadSpec } from '../../bench/scenario.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const streamed = { 'content-type': 'text/event-stream' }

const answers: Record<string, Answer> = {
  '/whole': (response) => response.end(`${firstToken} and ${lastToken}`),
  '/without-its-end': (response) => response.end(`${firstToken} and`),
  '/fault': (response) => response.writeHead(500).end(`${firstToken} and ${lastToken}`),
  '/refused': (response) => response.writeHead(503, { 'retry-after': '1' }).end('{"error":{"code":"service_unavailable"}}'),
  '/busy': (response) => response.writeHead(409).end('{"error":{"code":"conversation_busy"}}'),
  // The last word has arrived, but the response is cut off.
  '/cut': (response) => {
    response.writeHead(200, { ...streamed, 'content-length': 1000 })
    response.write(`${firstToken} and ${lastToken}`, () => response.destroy())
  },
  '/slow': (response) => {
    response.writeHead(200, streamed)
    response.write(firstToken.slice(0, 4))
    setTimeout(() => response.write(firstToken.slice(4)), 20)
    setTimeout(() => response.end(` ${lastToken}`), 300)
  },
}

async function open(t: TestContext) {
  const heard: { url: string; body: string }[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      heard.push({ url: request.url!, body: Buffer.concat(pieces).toString() })
      answers[request.url!]!(response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clients = openLoadClients()
  t.after(() => {
    clients.close()
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { heard, load: (spec: Omit<LoadSpec, 'base'>) => clients.load({ base, ...spec }) }
}

const call = (path: string, label?: string): Call => ({
  path,
  headers: { 'idempotency-key': '{{key}}' },
  body: '{"user":"{{user}}","key":"{{key}}"}',
  whole: [lastToken],
  ...(label === undefined ? {} : { label }),
})

void test('bench: an incomplete response is an error, a refusal is a refusal, and neither is a turn', async (t) => {
  const { load } = await open(t)
  const paths = Object.keys(answers).filter((path) => path !== '/slow')
  const result = await load({ calls: paths.map((path) => call(path, path)), callers: 1, turns: 2 * paths.length })
  const turns = Object.fromEntries(Object.entries(result.byLabel).map(([label, one]) => [label, [one.turns, one.refused, one.errors]]))
  assert.deepEqual(turns, {
    '/whole': [2, 0, 0],
    '/without-its-end': [0, 0, 2],
    '/fault': [0, 0, 2],
    '/refused': [0, 2, 0],
    '/busy': [0, 0, 2],
    '/cut': [0, 0, 2],
  })
  assert.equal(result.turns, 2)
  assert.deepEqual([result.refused.count, result.refused.withRetryAfter], [2, 2])
  assert.deepEqual(result.refused.reasons, { '503 service_unavailable': 2 })
  assert.equal(result.errors[`not whole: 200 ${firstToken} and`], 2)
  assert.equal(
    Object.values(result.errors).reduce((sum, count) => sum + count, 0),
    8,
  )
})

void test('bench: every turn has its own user and key, and exactly the requested number is sent, over all processes', async (t) => {
  const { heard, load } = await open(t)
  const result = await load({ calls: [call('/whole')], callers: 7, turns: 50, processes: 3 })
  assert.deepEqual([result.turns, heard.length], [50, 50])
  const bodies = heard.map(({ body }) => JSON.parse(body) as { user: string; key: string })
  assert.equal(new Set(bodies.map(({ user }) => user)).size, 50)
  assert.equal(new Set(bodies.map(({ key }) => key)).size, 50)
})

void test('bench: given users and keys are divided: each caller uses all of its own in turn, and no two callers the same one', async (t) => {
  const { heard, load } = await open(t)
  const names = (kind: string) => Array.from({ length: 6 }, (_, number) => `${kind}-${number}`)
  await load({ calls: [call('/whole')], callers: 2, turns: 12, users: names('user'), keys: names('key') })
  const bodies = heard.map(({ body }) => JSON.parse(body) as { user: string; key: string })
  assert.deepEqual(
    new Set(bodies.map(({ user, key }) => `${user} ${key}`)),
    new Set(names('user').map((user, number) => `${user} key-${number}`)),
  )
})

void test('bench: the first delta is timed when its token is complete, also if it arrived in two pieces', async (t) => {
  const { load } = await open(t)
  const { firstDelta, total } = await load({ calls: [call('/slow')], callers: 1, turns: 3 })
  assert.ok(firstDelta.p50 >= 15 && total.p50 - firstDelta.p50 >= 50, `first delta after ${firstDelta.p50} ms of ${total.p50} ms`)
})

void test('bench: an open loop sends at its own pace, and reports arrivals that found no free caller', async (t) => {
  const { heard, load } = await open(t)
  const result = await load({ calls: [call('/slow')], callers: 2, perSecond: 1000, seconds: 0.04 })
  assert.equal(result.turns, heard.length)
  // Of forty arrivals during one slow response, the first two find a caller.
  assert.equal(result.turns + result.unsent, 40)
  assert.ok(result.turns >= 2 && result.unsent > 0, `${result.turns} turns`)
})
