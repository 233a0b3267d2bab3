/**
 * How a guarded request handles a server that hangs, sends slowly, floods, lies or breaks off: limited in time and memory, with a clear
 * error.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createGuard, GuardFailed, GuardRefused } from '../src/agent/guard/guard.ts'
import type { Guard, GuardedRequest } from '../src/agent/guard/guard.ts'
import { startHostileServer } from './support/hostile-server.ts'
import type { HostileServer } from './support/hostile-server.ts'

const mebibyte = 1_048_576

let server: HostileServer
let guard: Guard

before(async () => {
  server = await startHostileServer()
  guard = createGuard({ allowPrivateHosts: [`127.0.0.1:${server.port}`] })
})
after(async () => {
  await guard.close()
  await server.close()
})

const ask = (path: string, more: Partial<GuardedRequest> = {}) =>
  guard.fetch(server.url(path), {
    method: 'GET',
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    maxBytes: mebibyte,
    redirects: 0,
    ...more,
  })
const textOf = (body: Uint8Array): string => Buffer.from(body).toString()

for (const path of ['/hang', '/hang-within', '/drip', '/continue']) {
  void test(`fault.tool-hostile: ${path} is aborted at its timeout, however often data arrives`, async () => {
    await assert.rejects(ask(path, { timeoutMs: 1000 }), (error) => error instanceof GuardFailed && error.message.includes('within 1 s'))
    await server.gone(path)
  })
}

void test('fault.tool-hostile: a gigabyte is truncated, and the connection closed long before its end', async () => {
  const { body, truncated, status } = await ask('/huge')
  assert.deepEqual([body.length, truncated, status], [mebibyte, true, 200])
  await server.gone('/huge')
  assert.ok(server.written('/huge') < 64 * mebibyte, `${server.written('/huge')} bytes were sent`)
})

void test('fault.tool-hostile: a gzip bomb of a gigabyte is truncated at the limit, and never decompressed whole', async () => {
  const before = process.resourceUsage().maxRSS
  const { body, truncated } = await ask('/bomb')
  assert.deepEqual([body.length, truncated], [mebibyte, true])
  assert.ok(body.every((byte) => byte === 0))
  const brotli = await ask('/brotli-bomb', { maxBytes: 1000 })
  assert.deepEqual([brotli.body.length, brotli.truncated], [1000, true])
  const grownKiB = process.resourceUsage().maxRSS - before
  // the test's own server makes 64 MiB of zeros for the second
  assert.ok(grownKiB < 300_000, `memory grew by ${grownKiB} KiB`)
})

void test('fault.tool-hostile: a compressed body that decodes to nothing is not read forever', async () => {
  await assert.rejects(ask('/nothing-in-gzip', { maxBytes: 1000 }), GuardFailed)
  await server.gone('/nothing-in-gzip')
  assert.ok(server.written('/nothing-in-gzip') < 64 * mebibyte)
})

void test('guard: a body of exactly the maximum length is not truncated', async () => {
  const { body } = await ask('/text')
  const exact = await ask('/text', { maxBytes: body.length })
  assert.deepEqual([exact.body.length, exact.truncated], [body.length, false])
  const cut = await ask('/text', { maxBytes: body.length - 1 })
  assert.deepEqual([cut.body.length, cut.truncated], [body.length - 1, true])
})

void test('guard: gzip, brotli and both kinds of deflate are decoded', async () => {
  const plain = textOf((await ask('/text')).body)
  for (const coding of ['gzip', 'br', 'deflate', 'raw']) assert.equal(textOf((await ask(`/coded?coding=${coding}`)).body), plain, coding)
  assert.equal((await ask('/empty-gzip')).body.length, 0)
})

for (const path of [
  '/broken-gzip',
  '/not-gzip',
  '/unasked-coding',
  '/cut',
  '/short',
  '/two-lengths',
  '/no-http',
  '/closes',
  '/headers',
  '/many-headers',
]) {
  void test(`guard: ${path} is a failure with a clear message, without address, stack or the server's text`, async () => {
    await assert.rejects(ask(path), (error: Error) => {
      assert.ok(error instanceof GuardFailed, String(error))
      assert.match(error.message, /^(the|there) [a-zA-Z ,-]+( \([A-Z0-9_]+\))?$/)
      assert.doesNotMatch(error.message, /request failed/)
      return true
    })
  })
}

void test('guard: bytes after the announced Content-Length are not part of the body', async () => {
  const answer = await ask('/long').catch((error: unknown) => error)
  if (answer instanceof GuardFailed) return
  assert.equal(textOf((answer as Awaited<ReturnType<typeof ask>>).body), 'short')
})

void test("guard: a caller's abort ends the request at every point with the caller's reason", async () => {
  for (const path of ['/hang', '/hang-within', '/drip']) {
    const caller = new AbortController()
    const asked = ask(path, { signal: caller.signal })
    const arrived = server.calls.length
    while (server.calls.length === arrived) await new Promise((resolve) => setTimeout(resolve, 5))
    const reason = new Error('gone')
    caller.abort(reason)
    await assert.rejects(asked, (error) => error === reason)
  }
  const earlier = server.calls.length
  const gone = AbortSignal.abort(new Error('before'))
  await assert.rejects(ask('/text', { signal: gone }), { message: 'before' })
  assert.equal(server.calls.length, earlier)
})

void test('guard: closing ends running requests', async () => {
  const own = createGuard({ allowPrivateHosts: [`127.0.0.1:${server.port}`] })
  const running = own.fetch(server.url('/hang'), {
    method: 'GET',
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    maxBytes: 1,
    redirects: 0,
  })
  const stream = await own.webFetch(server.url('/drip'))
  await Promise.all([own.close(), assert.rejects(running, GuardFailed), assert.rejects(stream.text(), GuardFailed)])
})

void test('guard: as a fetch it passes on method, headers and body, and returns status, headers and a stream', async () => {
  const response = await guard.webFetch(server.url('/echo?type=x'), { method: 'POST', headers: { 'x-own': '1' }, body: '{"a":1}' })
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/json'])
  const call = JSON.parse(await response.text())
  assert.deepEqual([call.method, call.headers['x-own'], call.body], ['POST', '1', '{"a":1}'])
  const coded = await guard.webFetch(new URL(server.url('/coded?coding=gzip')))
  assert.equal(coded.headers.get('content-encoding'), null)
  assert.match(await coded.text(), /^plain text, Grüße/)
  for (const status of [204, 304, 404, 500]) assert.equal((await guard.webFetch(server.url(`/bytes?status=${status}`))).status, status)
})

void test('guard: as a fetch it streams, and closes the connection when its reader cancels', async () => {
  const response = await guard.webFetch(server.url('/hang-within'))
  const reader = response.body!.getReader()
  assert.equal(textOf((await reader.read()).value!), 'beginning')
  void reader.read().catch(() => undefined)
  await reader.cancel()
  await server.gone('/hang-within')
  const caller = new AbortController()
  const dripping = await guard.webFetch(server.url('/drip'), { signal: caller.signal })
  caller.abort(new Error('gone'))
  await assert.rejects(dripping.text(), { message: 'gone' })
})

void test('guard: as a fetch it honors an abort even when only the body is left of the request', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const caller = new AbortController()
  const { body } = await guard.webFetch(server.url('/drip'), { signal: caller.signal })
  const reader = body!.getReader()
  for (let n = 0; n < 5; n++) {
    await reader.read()
    collect()
  }
  caller.abort(new Error('gone'))
  const limit = AbortSignal.timeout(20_000)
  const readOn = async (): Promise<void> => {
    while (!limit.aborted) await reader.read()
  }
  await assert.rejects(readOn(), { message: 'gone' })
})

void test('fault.tool-hostile: as a fetch it ends a body over 1 MiB with an error, also a decoded one', async () => {
  for (const path of ['/huge', '/bomb']) {
    const response = await guard.webFetch(server.url(path))
    await assert.rejects(response.arrayBuffer(), { message: /exceeds 1048576 bytes/ })
    await server.gone(path)
  }
})

void test('guard: as a fetch it reaches no private address and follows no redirect', async () => {
  await assert.rejects(async () => guard.webFetch(`http://127.0.0.1:${server.port + 1}/`), GuardRefused)
  await assert.rejects(async () => guard.webFetch(server.url('/redirect?status=307&to=/echo')), GuardRefused)
})
