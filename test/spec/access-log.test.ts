/** The access log: one line per request with fixed fields, and never any text that a caller or a model wrote. docs/operate/metrics.md */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Logger } from 'pino'
import { createLog } from '../../src/observability/log.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { adminToken } from '../support/test-app.ts'
import { body, chatPath, ScriptedTurn, startTestLayer } from '../support/test-http-layer.ts'

type Line = Record<string, unknown>

/** Waits for log lines: a line is written when its connection is done, which may be after the caller has the response. */
class Lines {
  readonly all: Line[] = []
  readonly log: Logger
  #came = Promise.withResolvers<void>()

  constructor(level: 'info' | 'warn' = 'info') {
    this.log = createLog(level, { destination: { write: (line) => this.#take(JSON.parse(line) as Line) } })
  }

  async next(): Promise<Line> {
    while (this.all.length === 0) await this.#came.promise
    return this.all.shift()!
  }

  #take(line: Line): void {
    this.all.push(line)
    this.#came.resolve()
    this.#came = Promise.withResolvers()
  }
}

const route = '/v1/agents/:agent_id/chat'
const caller = { agent_id: 'agt_door', key_id: 'key_door' }

/** Removes the fields that differ on every line. Each of them is checked here. */
function fixed({ time, duration_ms: durationMs, bytes, request_id: requestId, level, msg, ...rest }: Line): Line {
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.match(String(requestId), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.ok(typeof durationMs === 'number' && durationMs >= 0 && durationMs < 60_000)
  assert.ok(typeof bytes === 'number' && bytes >= 0)
  assert.deepEqual([level, msg], ['info', 'request'])
  return rest
}

void test('access log: a reply, a replay, refusals before and after authentication, an unknown path and a wrong method get one line each', async () => {
  const lines = new Lines()
  await using layer = await startTestLayer({ accessLog: lines.log })
  const [ok, method] = [{ method: 'POST', route, status: 200, transport: 'json' }, 'POST']

  const replayed = await layer.chat()
  assert.ok((await replayed.text()).length > 0)
  const line = await lines.next()
  assert.equal(line['request_id'], replayed.headers.get('x-request-id'), "the answer's own id")
  assert.ok(Number(line['bytes']) > Number(replayed.headers.get('content-length')))
  assert.deepEqual(fixed(line), { ...ok, ...caller, replay: true })

  await (await layer.chat({ path: `${chatPath}/stream` })).text()
  assert.deepEqual(fixed(await lines.next()), { ...ok, ...caller, route: `${route}/stream`, transport: 'stream', replay: true })

  await layer.chat({ headers: { authorization: 'Bearer bad' } })
  assert.deepEqual(fixed(await lines.next()), { method, route, status: 401, code: 'invalid_api_key', transport: 'json' })
  await layer.chat({ path: chatPath.replace('agt_door', 'agt_other') })
  assert.deepEqual(fixed(await lines.next()), { method, route, status: 403, code: 'agent_mismatch', transport: 'json', ...caller })
  const invalid = await layer.chat({ body: '{}' })
  const refused = await lines.next()
  assert.equal(refused['request_id'], invalid.headers.get('x-request-id'))
  assert.deepEqual(fixed(refused), { method, route, status: 422, code: 'validation_error', transport: 'json', ...caller })

  await fetch(`${layer.url}/nothing/here?a=b`)
  assert.deepEqual(fixed(await lines.next()), { method: 'GET', status: 404, code: 'not_found', transport: 'json' })
  await fetch(`${layer.url}${chatPath}`)
  const wrong = fixed(await lines.next())
  assert.deepEqual([wrong['status'], wrong['code']], [405, 'method_not_allowed'])
  await fetch(`${layer.url}/healthz`)
  assert.deepEqual(fixed(await lines.next()), { method: 'GET', route: '/healthz', status: 200, transport: 'json' })
  assert.deepEqual(lines.all, [])
})

void test('access log: a failed turn is logged with its error code on both transports, also when the status was 200', async () => {
  const lines = new Lines()
  const turns: ScriptedTurn[] = []
  const begin = () => {
    const turn = new ScriptedTurn()
    turns.push(turn)
    turn.fail('service_unavailable')
    return turn.started
  }
  await using layer = await startTestLayer({ begin, accessLog: lines.log })
  for (const [path, status, transport] of [
    [chatPath, 503, 'json'],
    [`${chatPath}/stream`, 200, 'stream'],
  ] as const) {
    await (await layer.chat({ path })).text()
    const line = await lines.next()
    assert.equal(line['request_id'], turns.at(-1)!.requestId)
    const { route: _, ...rest } = fixed(line)
    assert.deepEqual(rest, { method: 'POST', status, code: 'service_unavailable', transport, ...caller, replay: false })
  }
})

void test('access log: a request whose caller disconnects has a line too, with the bytes sent until then', async () => {
  for (const [path, seen] of [
    [chatPath, { transport: 'json' }],
    [`${chatPath}/stream`, { transport: 'stream', status: 200 }],
  ] as const) {
    const lines = new Lines()
    const turn = new ScriptedTurn()
    const started = Promise.withResolvers<void>()
    const begin = () => {
      started.resolve()
      return turn.started
    }
    await using layer = await startTestLayer({ begin, accessLog: lines.log })
    const raw = await RawSocket.open(layer.port)
    const head = `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\nidempotency-key: k\r\ncontent-type: application/json`
    raw.write(`${head}\r\ncontent-length: ${body().length}\r\n\r\n${body()}`)
    await started.promise
    if ('status' in seen) await raw.until('response.created')
    raw.socket.resetAndDestroy()
    const line = await lines.next()
    const { route: _, ...rest } = fixed(line)
    assert.deepEqual(rest, { method: 'POST', ...seen, ...caller, replay: false, aborted: true })
    assert.equal(Number(line['bytes']) > 0, 'status' in seen)
    turn.complete()
    assert.deepEqual(lines.all, [])
  }
})

void test('access log: bytes that the HTTP parser rejects get a line with the request id of the response and none of the bytes', async () => {
  const lines = new Lines()
  await using layer = await startTestLayer({ accessLog: lines.log })
  for (const bytes of ['GARBAGE\r\n\r\n', `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'GARBAGE'.repeat(5000)}\r\n\r\n`]) {
    using raw = await RawSocket.open(layer.port)
    raw.write(bytes)
    await raw.rest()
    const { time, ...line } = await lines.next()
    const [answer] = raw.answers
    const { status, headers } = answer!
    assert.deepEqual(line, { level: 'info', request_id: headers['x-request-id'], status, code: 'bad_request', msg: 'request' })
    assert.ok(typeof time === 'string')
  }
  using raw = await RawSocket.open(layer.port)
  raw.write(`POST ${chatPath} HTTP/1.1\r\nhost: x\r\nexpect: the-impossible\r\ncontent-length: 0\r\n\r\n`)
  await raw.until('bad_request')
  raw.socket.destroy()
  const refused = { method: 'POST', route: '/v1/agents/:agent_id/chat', status: 417, code: 'bad_request', transport: 'json' }
  assert.deepEqual(fixed(await lines.next()), refused)
  assert.deepEqual(lines.all, [])
})

void test('access log: nothing is logged at levels above info', async () => {
  const lines = new Lines('warn')
  await using layer = await startTestLayer({ accessLog: lines.log })
  await layer.chat()
  await layer.close()
  assert.deepEqual(lines.all, [])
})

void test('access log: no line of a whole process run contains a text, a secret, a user or a key; every request has its line when the process has exited', async (t) => {
  const canary = (place: string): string => `canary-${place}`
  const processRuns = await ProcessRuns.begin(t)
  const { client, model, server } = processRuns
  const secrets = [client.caller.apiKey, client.caller.apiKey.split('.')[1]!, adminToken, 'model-key']
  model.when('refuse', { status: 400, body: { error: { message: 'words of the provider' } } })
  model.when('answer', [{ reasoning: canary('reasoning') }, canary('reply')])
  const user = `${canary('user')}\n{"level":"fatal"}\u001b[31m`
  const ask = { user, idempotencyKey: canary('idempotency') }
  await client.chat(`answer ${canary('message')}`, ask)
  await client.stream(`answer ${canary('message')}`, ask)
  await client.chat(`refuse ${canary('message')}`, { user, headers: { 'x-canary': canary('header'), 'user-agent': canary('agent') } })
  await client.chat('x', { user, apiKey: canary('apikey') })
  await client.chatRequest(`{"message": "${canary('broken')}`)
  await client.messages(user)
  const paths = [`/${canary('path')}?${canary('query')}=1`, `/v1/agents/${canary('agent-id')}/chat`, '/%0a%1b[31m{"level":"fatal"}']
  for (const path of paths) await fetch(`${client.url}${path}`)
  await fetch(`${client.url}/admin/v1/${canary('admin')}`, { headers: { authorization: `Bearer ${canary('token')}` } })

  const closed = once(server!.child, 'close')
  assert.equal(await server!.stop(), 0)
  await closed
  const said = JSON.stringify(server!.log) + server!.stdout.join('\n')
  assert.ok(!said.includes('canary'), /.{80}canary.{80}/.exec(said)?.[0])
  for (const secret of secrets) assert.ok(!said.includes(secret), secret)
  const requests = server!.log.filter(({ msg }) => msg === 'request')
  // Its cause is a separate line in the operator's log and not part of the access log.
  assert.ok(!JSON.stringify(requests).includes('words of the provider'))
  // Four created the provider, owner, agent and key; two listed conversations and messages.
  assert.equal(requests.length, 4 + 5 + 2 + 3 + 1)
  assert.ok(server!.log.every(({ level }) => level !== 'fatal'))
  const fields = new Set(requests.flatMap((line) => Object.keys(line)))
  const page = readFileSync(new URL('../../docs/operate/metrics.md', import.meta.url), 'utf8')
  const documented = [...page.slice(page.indexOf('## The access log')).matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  // Disconnected callers and floods have separate tests.
  assert.deepEqual([...fields, 'aborted', 'suppressed', 'worker'].toSorted(), documented.toSorted())
})

void test('access log: a flood of refused requests is sampled, and the next line says how many are missing', async () => {
  const lines = new Lines()
  const clock = { now: 0 }
  await using layer = await startTestLayer({ accessLog: lines.log, monotonicMs: () => clock.now })
  const refused = async (): Promise<void> => void (await (await fetch(`${layer.url}/nope`)).arrayBuffer())
  for (let request = 0; request < 50; request++) await refused()
  // A served request is logged in any case, after the others.
  await (await layer.chat()).arrayBuffer()
  const written: Line[] = []
  do written.push(await lines.next())
  while (written.at(-1)!['status'] !== 200)
  assert.equal(written.filter(({ code }) => code === 'not_found').length, 20)
  clock.now = 10_001
  await refused()
  assert.equal((await lines.next())['suppressed'], 30)
})
