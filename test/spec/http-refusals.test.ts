/** `order.request-id`: what the HTTP parser refuses also has a request id and the error envelope. Over raw sockets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PauseWatch } from '../support/pause-watch.ts'
import { RawSocket, exchange } from '../support/raw-socket.ts'
import type { RawAnswer } from '../support/raw-socket.ts'
import { ScriptedTurn, body, chatPath, startTestLayer, uncalledAdmin } from '../support/test-http-layer.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const authorized = 'Host: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n'
const post = `POST ${chatPath} HTTP/1.1\r\n${authorized}`
const get = (path: string, headers = 'Host: x\r\nAuthorization: Bearer good\r\n'): string => `GET ${path} HTTP/1.1\r\n${headers}\r\n`
const chat = `${post}Content-Length: ${body().length}\r\n\r\n${body()}`

function isRefusal(answer: RawAnswer | undefined, status: number, code: string, title: string): void {
  assert.ok(answer, `${title}: no answer`)
  assert.deepEqual([answer.status, answer.json.error?.code], [status, code], title)
  assert.deepEqual(Object.keys(answer.json.error), ['code', 'message', 'request_id'], title)
  assert.match(answer.json.error.request_id, uuid, title)
  assert.equal(answer.headers['x-request-id'], answer.json.error.request_id, title)
  assert.equal(answer.headers['x-content-type-options'], 'nosniff', title)
}

/** It arrived too slowly. */
function isLate(answer: RawAnswer | undefined, pauses: PauseWatch, title: string): void {
  const { status, code } = pauses.refusalOfLate(answer?.status)
  isRefusal(answer, status, code, title)
}

const refused: Record<string, [bytes: string | Buffer, status: number]> = {
  'bytes that are not HTTP': ['hello\r\n\r\n', 400],
  'a TLS greeting': [Buffer.from('16030100a5010000a1', 'hex'), 400],
  'a space in a header name': [get('/healthz', 'Host: x\r\nbad name: 1\r\n'), 400],
  'a folded header': [get('/healthz', 'Host: x\r\nX-A: a\r\n b\r\n'), 400],
  'no Host': [get('/healthz', ''), 400],
  'two Hosts': [get('/healthz', 'Host: a\r\nHost: b\r\n'), 400],
  'HTTP/2 by prior knowledge': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  'HTTP/3.0': ['GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n', 400],
  'HTTP/0.9': ['GET /healthz\r\n\r\n', 400],
  'an unknown method': ['FOO /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  'a space in the path': [get('/he althz'), 400],
  'a raw UTF-8 path': [get('/v1/agents/ü/conversations'), 400],
  'bad percent-encoding': [get('/v1/agents/%zz/conversations'), 400],
  'percent-encoded bytes that are not UTF-8': [get('/v1/agents/%ff/conversations'), 400],
  'headers over 16 KiB': [get('/healthz', `Host: x\r\nX-A: ${'a'.repeat(20_000)}\r\n`), 431],
  'a path over 16 KiB': [get(`/${'a'.repeat(20_000)}`), 431],
  'an unsupported expectation': [`${post}Expect: 200-maybe\r\nContent-Length: 5\r\n\r\n`, 417],
  'a bad chunk size': [`${post}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n`, 400],
}

const injected: typeof refused = {
  'NUL in a header': [get('/healthz', 'Host: x\r\nX-A: a\0b\r\n'), 400],
  'CR in a header': [get('/healthz', 'Host: x\r\nX-A: a\rX-B: b\r\n'), 400],
  'CR in an Idempotency-Key': [`POST ${chatPath} HTTP/1.1\r\n${authorized.replace('Key: k', 'Key: k\rX-B: b')}\r\n`, 400],
}

const smuggled: typeof refused = {
  'Content-Length with Transfer-Encoding': [`${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  'two Content-Lengths': [`${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`, 400],
  'a negative Content-Length': [`${post}Content-Length: -5\r\n\r\n`, 400],
  'chunked not last': [`${post}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`, 400],
  'another coding before chunked': [`${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
  'chunked in HTTP/1.0': [`${post.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  'bare LF': ['GET /healthz HTTP/1.1\nHost: x\n\n', 400],
  'bare LF between headers': ['GET /healthz HTTP/1.1\r\nHost: x\nX-A: a\r\n\r\n', 400],
  'bare LF between chunks': [`${post}Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n`, 400],
}

async function refusesBytes(title: string, [bytes, status]: (typeof refused)[string], { closes = false } = {}): Promise<void> {
  await using layer = await startTestLayer()
  using raw = await RawSocket.open(layer.port)
  raw.write(bytes)
  await raw.until(/\r\n\r\n\{.*\}$/)
  const [answer, ...more] = raw.answers
  isRefusal(answer, status, 'bad_request', title)
  if (closes) {
    assert.equal(answer!.headers['connection'], 'close', title)
    await raw.rest()
  }
  assert.deepEqual(more, [])
  assert.deepEqual(layer.started, [], 'nothing began')
  assert.deepEqual(layer.logged, [], "a caller's fault is not ours to log")
}

for (const [title, sent] of Object.entries(refused))
  void test(`order.request-id: ${title} is ${sent[1]} bad_request`, () => refusesBytes(title, sent))

for (const [title, sent] of Object.entries(injected))
  void test(`fault.header-invalid order.request-id: ${title} (header injection) is ${sent[1]} bad_request`, () =>
    refusesBytes(title, sent, { closes: true }))

for (const [title, sent] of Object.entries(smuggled))
  void test(`fault.request-smuggling order.request-id: smuggling: ${title} is ${sent[1]} bad_request, and the connection closes`, () =>
    refusesBytes(title, sent))

void test('fault.request-smuggling order.request-id: a second request behind an ambiguous one, in one packet, is not run', async () => {
  await using layer = await startTestLayer()
  for (const coding of ['gzip, chunked', 'chunked, chunked']) {
    const [answer, ...more] = await exchange(layer.port, `${post}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n${chat}`)
    isRefusal(answer, 400, 'bad_request', coding)
    assert.deepEqual([more, layer.started], [[], []], coding)
  }
})

const paths: Record<string, number> = {
  '/v1/agents/../agents/agt_door/conversations': 404,
  '/v1/agents/agt_door/../conversations': 404,
  '//v1/agents/agt_door/conversations': 404,
  '/v1/agents//conversations': 404,
  '/v1/agents/%00/conversations': 403,
  '/v1/agents/%2e%2e/conversations': 404,
  '/v1/agents/agt_door%2fconversations': 404,
  '/v1/agents/agt_door;a=b/conversations': 403,
  '/V1/AGENTS/agt_door/conversations': 404,
  '/v1/agents/AGT_DOOR/conversations': 403,
  '/v1/agents/agt_door/conversations/': 404,
  '/v1/agents/agt_door/conversations/%2e%2e%2f%2e%2e/messages': 404,
  '/v1': 404,
  '/.': 404,
  '//': 404,
  '*': 404,
  '*healthz': 404,
}

void test('fault.path-traversal order.route: traversal, doubled slashes, NUL, semicolons and upper case in a path are 403 or 404', async () => {
  await using layer = await startTestLayer()
  for (const [path, status] of Object.entries(paths)) {
    const [answer] = await exchange(layer.port, get(path, 'Host: x\r\nAuthorization: Bearer good\r\nConnection: close\r\n'))
    isRefusal(answer, status, status === 403 ? 'agent_mismatch' : 'not_found', path)
  }
})

void test('order.route: an absolute URL is treated as its path', async () => {
  await using layer = await startTestLayer()
  const close = 'Host: x\r\nConnection: close\r\n'
  assert.equal((await exchange(layer.port, get('http://x/healthz', close)))[0]!.status, 200)
  isRefusal((await exchange(layer.port, get('http://x/v1/agents/a/chat', close)))[0], 405, 'method_not_allowed', 'GET')
})

void test('order.request-id: CONNECT is 404, and an Upgrade is ignored', async () => {
  await using layer = await startTestLayer()
  isRefusal((await exchange(layer.port, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'))[0], 404, 'not_found', 'CONNECT')
  const upgrade = 'Host: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n'
  assert.equal((await exchange(layer.port, get('/healthz', upgrade)))[0]!.status, 200)
})

void test('fault.slow-requests order.request-id: headers that arrive too slowly are 408', async () => {
  using pauses = new PauseWatch()
  await using layer = await startTestLayer({ times: { headersMs: 100, requestMs: 10_000 } })
  using raw = await RawSocket.open(layer.port)
  raw.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  await raw.rest()
  isLate(raw.answers[0], pauses, 'slow headers')
})

void test('fault.slow-requests order.request-id: a body that arrives too slowly is 408, and no turn starts', async () => {
  using pauses = new PauseWatch()
  await using layer = await startTestLayer({ times: { headersMs: 100, requestMs: 200 } })
  using raw = await RawSocket.open(layer.port)
  raw.write(`${post}Content-Length: 1000\r\n\r\n{"external`)
  await raw.rest()
  isLate(raw.answers[0], pauses, 'slow body')
  assert.equal(raw.answers.length, 1)
  assert.deepEqual(layer.started, [])
})

void test('order.request-id: a slow body after its own refusal does not hold the connection open', async () => {
  await using layer = await startTestLayer({ times: { headersMs: 2000, requestMs: 2000 } })
  using raw = await RawSocket.open(layer.port)
  raw.write(`POST ${chatPath} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"external`)
  await raw.rest()
  isRefusal(raw.answers[0], 401, 'invalid_api_key', 'slow body')
  assert.equal(raw.answers.length, 1)
})

void test('order.request-id: a FIN in the middle of a body is 400', async () => {
  await using layer = await startTestLayer()
  using raw = await RawSocket.open(layer.port)
  raw.write(`${post}Content-Length: 1000\r\n\r\n{"external`)
  raw.socket.end()
  await raw.rest()
  isRefusal(raw.answers[0], 400, 'bad_request', 'half a body')
  assert.deepEqual(layer.started, [])
})

void test('order.request-id: pipelined requests are answered in order', async () => {
  await using layer = await startTestLayer()
  using raw = await RawSocket.open(layer.port)
  raw.write(chat + get('/nope', 'Host: x\r\n') + chat.replace('Connection', 'x').replace('Host: x', 'Host: x\r\nConnection: close'))
  await raw.rest()
  assert.deepEqual(
    raw.answers.map(({ status }) => status),
    [200, 404, 200],
  )
})

for (const [title, garbage, status, code] of [
  ['garbage', 'garbage\r\n\r\n', 400, 'bad_request'],
  ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
] as const) {
  void test(`order.request-id: ${title} behind a waiting request is answered after its response, never inside it`, async () => {
    const turn = new ScriptedTurn()
    const began = Promise.withResolvers<void>()
    await using layer = await startTestLayer({
      begin() {
        began.resolve()
        return turn.started
      },
    })
    using raw = await RawSocket.open(layer.port)
    raw.write(chat + garbage)
    await began.promise
    turn.say('hi')
    turn.complete()
    await raw.rest()
    assert.equal(raw.answers.length, 2)
    assert.deepEqual([raw.answers[0]!.status, raw.answers[0]!.json.message.content], [200, 'hi'])
    isRefusal(raw.answers[1], status, code, title)
  })

  void test(`order.request-id: ${title} behind a running stream is answered after it, never inside it`, async () => {
    const turn = new ScriptedTurn()
    await using layer = await startTestLayer({ begin: () => turn.started })
    using raw = await RawSocket.open(layer.port)
    raw.write(chat.replace(chatPath, `${chatPath}/stream`))
    await raw.until('response.created')
    turn.say('one')
    await raw.until('"one"')
    raw.write(garbage)
    turn.say('two')
    await raw.until('"two"')
    turn.complete()
    await raw.rest()
    const [stream, refusal, ...more] = raw.answers
    assert.deepEqual(more, [])
    assert.match(stream!.body, /^event: response\.created\n[^]*event: response\.completed\nid: end\ndata: .*\n\n$/)
    isRefusal(refusal, status, code, title)
  })
}

const keyHeader = (value: string): string => chat.replace('Idempotency-Key: k', `Connection: close\r\nIdempotency-Key: ${value}`)

void test('fault.header-invalid idempotency.key-text: two headers, an empty, a 256-character or a control character one are 422', async () => {
  await using layer = await startTestLayer()
  const cases = ['a\r\nIdempotency-Key: a', 'a\r\nIDEMPOTENCY-KEY: b', '', '  ', 'a'.repeat(256), 'é'.repeat(256), 'a\tb', 'a\u0085b']
  for (const value of cases) isRefusal((await exchange(layer.port, keyHeader(value)))[0], 422, 'validation_error', JSON.stringify(value))
  isRefusal((await exchange(layer.port, chat.replace('Idempotency-Key: k', 'Connection: close')))[0], 422, 'validation_error', 'none')
  assert.deepEqual(layer.started, [])
})

void test('idempotency.key-text: any other text is taken as it is: quotes, case, commas, UTF-8, latin1', async () => {
  await using layer = await startTestLayer()
  const keys = ['"a"', 'A', 'a', 'a, b', 'é', '😀'.repeat(255), 'a'.repeat(255), "'; drop table turns; --"]
  for (const key of keys) assert.equal((await exchange(layer.port, keyHeader(key)))[0]!.status, 200, key)
  assert.equal((await exchange(layer.port, Buffer.from(keyHeader('caf\u00e9'), 'latin1')))[0]!.status, 200)
  assert.deepEqual(
    layer.started.map(({ idempotencyKey }) => idempotencyKey),
    [...keys, 'café'],
  )
})

void test('order.authentication: with two Authorization headers, neither counts', async () => {
  await using layer = await startTestLayer()
  const twice = chat.replace('Authorization: Bearer good', 'Connection: close\r\nAuthorization: Bearer good\r\nAuthorization: Bearer good')
  isRefusal((await exchange(layer.port, twice))[0], 401, 'invalid_api_key', 'twice')
})

void test('order.request-id: beside the admin API, which receives files for longer, a slow body still ends at the usual timeout', async () => {
  using pauses = new PauseWatch()
  await using layer = await startTestLayer({ admin: uncalledAdmin, times: { headersMs: 100, requestMs: 200, uploadMs: 60_000 } })
  using slow = await RawSocket.open(layer.port)
  slow.write(`${post}Content-Length: 1000\r\n\r\n{"external`)
  await slow.rest()
  isLate(slow.answers[0], pauses, 'slow body')
  assert.deepEqual([slow.answers.length, layer.started], [1, []])

  const form = 'Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n'
  const head = 'Host: x\r\nAuthorization: Bearer a-token-of-a-test\r\n'
  using file = await RawSocket.open(layer.port)
  file.write(`POST /admin/v1/agents/agt_x/documents HTTP/1.1\r\n${head}${form}--b`)
  using json = await RawSocket.open(layer.port)
  json.write(`POST /admin/v1/agents/agt_x/documents HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"ti`)
  await json.rest()
  isLate(json.answers[0], pauses, 'slow JSON where files are taken')
  assert.deepEqual(file.answers, [], 'an upload that has started is still waited for')
})
