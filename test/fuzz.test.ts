/**
 * Thousands of requests that no client would send: bodies, headers, paths and framing are generated and then mutated. Whatever arrives,
 * each response is one that the API describes, failures have the envelope and an id, and the server continues. The fast tier sends a fifth
 * of them; `REQUESTS=1000000 SEED=n` runs longer.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { RawSocket } from './support/raw-socket.ts'
import type { RawAnswer } from './support/raw-socket.ts'
import { body, chatPath, startTestLayer } from './support/test-http-layer.ts'

const requests = Number(process.env['REQUESTS'] ?? (process.env['TEST_TIER'] === 'fast' ? 4_000 : 20_000))
const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))
// Sent concurrently, each on its own connection.
const atOnce = 25

const latin1 = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
/** Fields that some code reads, in forms that are right, nearly right and wrong. */
const known: Record<string, string[]> = {
  Host: ['x', '', 'a, b', 'x:99999'],
  Authorization: ['Bearer good', 'bearer good', 'Bearer', 'Bearer bad', 'Basic eDp5', 'Bearer good good'],
  'Idempotency-Key': ['k', '', ' ', 'a'.repeat(255), 'a'.repeat(256), '"k"', 'k\tk', 'ü'],
  'Content-Type': [
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'text/plain',
    'multipart/form-data',
    ';',
  ],
  'Transfer-Encoding': ['chunked', 'gzip, chunked', 'identity', 'chunked, chunked', 'x', ''],
  'Content-Length': ['0', '5', '-1', '1e3', '99999999999999999999', '0x10', '+5', '5, 5', ''],
  Connection: ['close', 'keep-alive', 'upgrade', 'close, x'],
  Expect: ['100-continue', '200-maybe', ''],
  Upgrade: ['websocket', 'h2c'],
  'X-Request-ID': ['mine'],
  'Accept-Encoding': ['gzip', 'identity;q=0'],
  'Content-Encoding': ['gzip', 'br'],
}
const header = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...Object.entries(known).flatMap(([name, values]) => values.map((value) => `${name}: ${value}`))),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...Object.keys(known)), latin1).map(([name, value]) => `${name}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(fc.string(), latin1).map(([name, value]) => `${name}: ${value}`) },
  { weight: 1, arbitrary: latin1 },
)

/** A text with a few of its bytes removed, doubled or replaced. */
const bent = (text: string): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.tuple(fc.nat(), fc.constantFrom('cut', 'double', 'replace'), fc.integer({ min: 0, max: 255 })), { maxLength: 4 })
    .map((edits) => {
      let bytes = Buffer.from(text)
      for (const [place, how, byte] of edits) {
        const at = bytes.length === 0 ? 0 : place % bytes.length
        const middle = how === 'cut' ? [] : how === 'double' ? [...bytes.subarray(at, at + 1), ...bytes.subarray(at, at + 1)] : [byte]
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(middle), bytes.subarray(at + 1)])
      }
      return bytes
    })

const anyText = fc.string({ unit: 'binary', maxLength: 300 })
const payload = fc.oneof(
  fc.constant(Buffer.from(body())),
  fc.tuple(anyText, anyText).map(([message, user]) => Buffer.from(body(message, user))),
  bent(body('Grüße 😀 \\u0000 \ud83d', 'user-1')),
  bent('{"external_user_id":"u","message":{"a":[1,2,{"b":null}]},"__proto__":{}}'),
  fc.json().map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  fc.nat({ max: 3000 }).map((depth) => Buffer.from('['.repeat(depth))),
)

const path = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(chatPath, `${chatPath}/stream`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '/v1/agents/agt_door/conversations?limit=0',
      '/v1/agents/agt_door/conversations/x/messages',
      '/openapi.json',
      '/readyz',
      '/v1/../x',
      '*',
    ),
  },
  { weight: 1, arbitrary: bent(`${chatPath}/stream?a=%00&b[]=1#x`).map((bytes) => bytes.toString('latin1')) },
  { weight: 1, arbitrary: fc.webPath() },
)
// No HEAD: its response has the length of a body that does not follow, which this reader of bytes does not support.
const method = fc.oneof(
  { weight: 8, arbitrary: fc.constant('POST') },
  { weight: 1, arbitrary: fc.constantFrom('GET', 'PUT', 'OPTIONS', 'CONNECT', 'post', 'PRI') },
)
const version = fc.oneof({ weight: 20, arbitrary: fc.constant('1.1') }, { weight: 1, arbitrary: fc.constantFrom('1.0', '2.0', '0.9') })
const framing = fc.oneof(
  { weight: 12, arbitrary: fc.constant('length' as const) },
  { weight: 2, arbitrary: fc.constantFrom('chunks' as const, 'longer' as const, 'shorter' as const, 'none' as const) },
)
// Most are valid but for one thing, so that they pass more than the first check.
const usual = ['Host: x', 'Authorization: Bearer good', 'Idempotency-Key: k', 'Content-Type: application/json']
const headers = fc.oneof(
  { weight: 4, arbitrary: fc.constant(usual) },
  { weight: 3, arbitrary: fc.array(header, { maxLength: 2 }).map((more) => [...usual, ...more]) },
  { weight: 1, arbitrary: fc.array(header, { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.subarray(usual) },
)

const request = fc
  .record({ method, path, headers, payload, framing, version })
  .map(({ method: verb, path: target, headers: lines, payload: bytes, framing: how, version }) => {
    const lengths = { length: bytes.length, longer: bytes.length + 7, shorter: Math.max(0, bytes.length - 7) }
    const frame = how === 'none' ? [] : how === 'chunks' ? ['Transfer-Encoding: chunked'] : [`Content-Length: ${lengths[how]}`]
    const head = Buffer.from(`${verb} ${target} HTTP/${version}\r\n${[...lines, ...frame].join('\r\n')}\r\n\r\n`, 'latin1')
    const chunk = [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from(bytes.length === 0 ? '\r\n' : '\r\n0\r\n\r\n')]
    return Buffer.concat([head, ...(how === 'chunks' ? chunk : [bytes])])
  })

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const refusals = [400, 401, 403, 404, 405, 408, 413, 417, 422, 431]

function isKnownAnswer({ status, headers: reported, json }: RawAnswer): void {
  // 100: requested by `Expect`, and not a final response.
  if (status === 100) return
  assert.match(reported['x-request-id'] ?? '', uuid)
  if (status === 200) return
  assert.ok(refusals.includes(status), `status ${status}`)
  assert.deepEqual(Object.keys(json), ['error'])
  assert.deepEqual(Object.keys(json.error), ['code', 'message', 'request_id'])
  assert.equal(json.error.request_id, reported['x-request-id'])
}

void test(`${requests} generated requests: each response is in the envelope, none is an internal error, and the server continues (seed ${seed})`, async (t) => {
  await using layer = await startTestLayer()
  const counts = new Map<number, number>()
  const property = fc.asyncProperty(fc.array(request, { minLength: atOnce, maxLength: atOnce, size: 'max' }), async (some) => {
    await Promise.all(
      some.map(async (bytes) => {
        using raw = await RawSocket.open(layer.port)
        // The whole of it and a FIN: missing parts are not waited for.
        raw.socket.end(bytes)
        await raw.rest()
        assert.ok(raw.ended, 'all of the answer could be read')
        const { answers } = raw
        assert.ok(answers.length > 0, 'no answer')
        for (const answer of answers) {
          isKnownAnswer(answer)
          counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
        }
      }),
    )
    assert.deepEqual(layer.logged, [])
  })
  await fc.assert(property, { seed, numRuns: Math.ceil(requests / atOnce), endOnFailure: false })
  t.diagnostic(
    [...counts]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', '),
  )
  for (const status of [200, 400, 401, 404, 405, 422]) assert.ok(counts.has(status), `none was answered with ${status}`)
  assert.equal((await layer.chat()).status, 200)
})
