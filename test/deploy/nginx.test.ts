/**
 * deploy/nginx.conf in a real nginx, in front of real servers: a caller gets the same responses through it as without it, and nginx's own
 * errors have the service's format. Each value that matters is also removed, to prove that it is needed.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { ApiError, failures } from '../../src/errors.ts'
import type { FailureCode } from '../../src/errors.ts'
import { turnDefaults } from '../../src/turn/turn-settings.ts'
import { Fleet, noFleet } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import { spellingsOf } from '../support/path-spellings.ts'
import { adminToken, parseEvents, startTestApp, TestClient } from '../support/test-app.ts'
import type { TestApp, TestAppOptions } from '../support/test-app.ts'
import { body, chatPath, ScriptedTurn, startTestLayer } from '../support/test-http-layer.ts'
import { nginxConf, startNginx, swap, withoutNginx } from './nginx-front.ts'

const options = { skip: withoutNginx() }

/** A service, nginx before it, and a caller who knows nginx alone. */
async function behind(
  t: TestContext,
  { change, ...app }: TestAppOptions & { change?: (conf: string) => string } = {},
): Promise<{ app: TestApp; caller: TestClient; port: number; accessLog: () => string[] }> {
  const service = await startTestApp(app)
  t.after(() => service.close())
  const front = await startNginx(t, [service.url], change)
  const caller = new TestClient(front.url, service.adminUrl)
  caller.caller = service.caller
  return { app: service, caller, port: front.port, accessLog: front.accessLog }
}

/** A stream as it arrives; what has arrived so far is in `text`. */
class Incoming {
  readonly response: Response
  readonly #reader: ReadableStreamDefaultReader<string>
  text = ''

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** Rejects if the stream ends without it. */
  async until(text: string): Promise<void> {
    while (!this.text.includes(text)) {
      const { value, done } = await this.#reader.read()
      if (done) throw new Error(`ended without ${text}:\n${this.text}`)
      this.text += value
    }
  }

  async rest(): Promise<string> {
    for (;;) {
      const { value, done } = await this.#reader.read()
      if (done) return this.text
      this.text += value
    }
  }
}

const stream = async (caller: TestClient, message: string): Promise<Incoming> =>
  new Incoming(await caller.chatRequest({ external_user_id: 'user-1', message }, { path: 'chat/stream' }))

/** Raw bytes over TLS, for what no client would send; everything that arrives until nginx closes. */
async function exchange(port: number, bytes: string): Promise<{ status: number; head: string; json: any }> {
  const socket = connectTls({ port, host: '127.0.0.1' })
  await once(socket, 'secureConnect')
  socket.setEncoding('utf8').write(bytes)
  let text = ''
  for await (const piece of socket) text += piece
  const [head = '', rest = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, json: JSON.parse(rest) }
}

// Version 4, nginx's own: the service's ids are of version 7.
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

void describe('nginx: streams', options, () => {
  void test('stream.established: through nginx each delta arrives while the model is held before the next one', async (t) => {
    const { app, caller } = await behind(t)
    const gates = [gate(), gate(), gate()]
    app.model.script([gates[0]!, 'One ', gates[1]!, 'two ', gates[2]!, 'three.'])
    const incoming = await stream(caller, 'count')
    await incoming.until('event: response.created')
    for (const [index, word] of ['One ', 'two ', 'three.'].entries()) {
      assert.ok(!incoming.text.includes(word))
      gates[index]!.open()
      await incoming.until(`"delta":"${word}"`)
    }
    const events = parseEvents(await incoming.rest())
    assert.equal(events.at(-1)!.data['message'].content, 'One two three.')
    assert.equal(events.length, 5)
  })

  void test("stream.established: the stream's own header disables buffering too; without header and directive the first event stays in nginx", async (t) => {
    for (const ignored of [false, true]) {
      const { app, caller } = await behind(t, {
        change: (conf) => swap(conf, 'proxy_buffering off;', ignored ? 'proxy_ignore_headers X-Accel-Buffering;' : ''),
      })
      const held = gate()
      app.model.script(['One ', held, 'two.'])
      const answer = stream(caller, 'count').then(async (incoming) => {
        await incoming.until('One ')
        return incoming
      })
      await held.reached
      // Nothing arrives, however long one waits: a second is enough to see that.
      if (ignored) assert.equal(await Promise.race([answer, setTimeout(1000, 'nothing')]), 'nothing')
      else await answer
      held.open()
      assert.match(await (await answer).rest(), /response\.completed/)
    }
  })

  void test('stream.established: a stream is not compressed, though nginx compresses everything else and the caller accepts it', async (t) => {
    for (const shipped of [true, false]) {
      const { caller } = await behind(t, shipped ? {} : { change: (conf) => swap(conf, 'gzip off;', '') })
      const incoming = await stream(caller, 'hi')
      assert.equal(incoming.response.headers.get('content-encoding'), shipped ? null : 'gzip')
      assert.match(await incoming.rest(), /response\.completed/)
    }
  })
})

// The process of the server may stand still for a shorter time.
const impatientMs = 4_000
const impatient = (conf: string): string => swap(conf, 'proxy_read_timeout 130s;', `proxy_read_timeout ${impatientMs}ms;`)

void describe('nginx: waiting', options, () => {
  void test("stream.established: its heartbeat keeps a stream open longer than nginx's timeout; without one nginx cuts it", async (t) => {
    const open = async (heartbeatMs: number, then: (incoming: Incoming, turn: ScriptedTurn) => Promise<void>): Promise<void> => {
      const turn = new ScriptedTurn()
      await using layer = await startTestLayer({ begin: () => turn.started, times: { heartbeatMs } })
      const front = await startNginx(t, [layer.url], impatient)
      const response = await fetch(`${front.url}${chatPath}/stream`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': 'k' },
        body: body(),
      })
      const incoming = new Incoming(response)
      await incoming.until('response.created')
      await then(incoming, turn)
      turn.complete()
    }
    await Promise.all([
      open(100, async (incoming, turn) => {
        const from = performance.now()
        await incoming.until(':\n\n'.repeat((1.5 * impatientMs) / 100))
        assert.ok(performance.now() - from > impatientMs, 'longer than nginx waits for a silent server')
        turn.say('late')
        turn.complete()
        assert.match(await incoming.rest(), /response\.completed/)
      }),
      open(60_000, (incoming) => assert.rejects(incoming.rest(), 'the stream is cut')),
    ])
  })

  void test('nginx waits longer than a turn may take, and its timeout response has the envelope', async (t) => {
    const seconds = Number(/^ *proxy_read_timeout (\d+)s;$/m.exec(nginxConf)![1])
    assert.ok(seconds * 1000 > turnDefaults.answerMs)
    const { app, caller } = await behind(t, { change: impatient })
    const held = gate()
    app.model.script([held, 'Late, but there.'])
    const idempotencyKey = randomUUID()
    const cut = await caller.chat('hi', { idempotencyKey })
    assert.deepEqual([cut.status, cut.json['error'].code, cut.headers.get('retry-after')], [503, 'service_unavailable', '5'])
    // The turn continues, and its reply is available with the same key.
    held.open()
    let answer = await caller.chat('hi', { idempotencyKey })
    while (answer.status === 409 || answer.status === 503) answer = await caller.chat('hi', { idempotencyKey })
    assert.equal(answer.json['message'].content, 'Late, but there.')
    assert.equal(app.model.calls.length, 1)
  })
})

const headers = { authorization: 'Bearer good', 'content-type': 'application/json' }

void describe('nginx: answers', options, () => {
  void test("order.request-id: the service's responses pass unchanged: status, headers, envelope", async (t) => {
    const { app, caller } = await behind(t, { key: { rate_limit: { limit: 6, window_seconds: 600 } } })
    const direct = new TestClient(app.url)
    direct.caller = app.caller
    const idempotencyKey = randomUUID()
    const asked: ((client: TestClient) => Promise<{ status: number; headers: Headers; text: string }>)[] = [
      (client) => client.chat('hi', { idempotencyKey }),
      (client) => client.chat('other', { idempotencyKey }),
      (client) => client.chat('hi', { apiKey: 'wrong' }),
      (client) => client.chat('hi', { agentId: 'agt_other' }),
      (client) => client.chat('', { path: 'nowhere' }),
      (client) => client.chat('hi', { headers: { 'idempotency-key': '' } }),
      (client) => client.chat('hi'),
    ]
    const seen: number[] = []
    for (const ask of asked) {
      const [plain, through] = [await ask(direct), await ask(caller)]
      seen.push(through.status)
      assert.equal(through.status, plain.status, through.text)
      assert.deepEqual(reported(through.headers), reported(plain.headers), String(plain.status))
      assert.equal(withoutId(through.text), withoutId(plain.text))
      assert.match(through.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/)
    }
    assert.deepEqual(seen, [200, 409, 401, 403, 404, 422, 429])
  })

  void test("order.request-id: a caller's own X-Request-ID is not used, and two Idempotency-Keys stay two", async (t) => {
    const { app, caller, port } = await behind(t)
    const { headers: got } = await caller.chat('hi', { headers: { 'x-request-id': 'mine' } })
    assert.notEqual(got.get('x-request-id'), 'mine')
    const sent = JSON.stringify({ external_user_id: 'u', message: 'hi' })
    const { status, json } = await exchange(
      port,
      `POST /v1/agents/${app.caller.agentId}/chat HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.caller.apiKey}\r\n` +
        `Content-Type: application/json\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`,
    )
    assert.deepEqual([status, json.error.code], [422, 'validation_error'])
  })

  void test("nginx's own refusals have the envelope, with the messages of the failure table and a UUID", async (t) => {
    const { app, caller, port } = await behind(t)
    const bodyOf = (size: number): string => JSON.stringify({ external_user_id: 'u', message: 'x' }).padEnd(size, ' ')
    const whole = await caller.chatRequest(bodyOf(1_048_576))
    assert.equal(whole.status, 200, await whole.text())
    const request = (line: string, more = ''): string => `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`
    const inside = [
      '/admin/v1/owners',
      '/ADMIN/v1/owners',
      '/console',
      '/metrics',
      '/%61dmin/v1/owners',
      '//admin/v1/owners',
      '/x/../admin/v1/owners',
    ]
    const refused: [code: FailureCode, status: number, bytes: string][] = [
      ['payload_too_large', 413, request(`POST ${chatPath}`, 'Content-Length: 1048577\r\n')],
      ['bad_request', 400, 'nonsense\r\n\r\n'],
      ['bad_request', 400, 'GET / HTTP/1.1\r\n\r\n'],
      ['bad_request', 400, request('GET /', `Long: ${'x'.repeat(40_000)}\r\n`)],
      ['bad_request', 400, request(`GET /${'x'.repeat(40_000)}`)],
      ...inside.map((path): [FailureCode, number, string] => ['not_found', 404, request(`GET ${path}`)]),
    ]
    for (const [code, status, bytes] of refused) {
      const answer = await exchange(port, bytes)
      assert.equal(answer.status, status, answer.head)
      const id = /^X-Request-ID: (.*)$/im.exec(answer.head)![1]
      assert.match(id!, uuid)
      assert.deepEqual(answer.json, { error: { code, message: failures[code].message, request_id: id } })
      assert.match(answer.head, /^Content-Type: application\/json$/im)
    }
    await app.close()
    const gone = await caller.chat('hi')
    assert.deepEqual([gone.status, gone.headers.get('retry-after')], [503, String(failures.service_unavailable.retryAfterSeconds)])
    assert.equal(gone.json['error'].message, failures.service_unavailable.message)
    assert.equal(gone.json['error'].request_id, gone.headers.get('x-request-id'))
  })

  void test("the access log of nginx has no query string, which may contain the names of the callers' users", async (t) => {
    const { app, caller, accessLog } = await behind(t)
    await caller.chat('hi', { user: 'alice@example.com' })
    assert.equal((await caller.messages('alice@example.com')).length, 2)
    await caller.messages('nobody@example.com')
    const lines = accessLog()
    assert.equal(lines.length, 4)
    assert.ok(
      lines.every((line) => !line.includes('example.com') && line.includes(`/v1/agents/${app.caller.agentId}/`)),
      lines.join('\n'),
    )
  })
})

const denied = '  location ~* ^/(admin|console|metrics)(/|$) {\n    return 404;\n  }\n'

void describe('nginx: paths that it denies', options, () => {
  const ask = (port: number, target: string): Promise<{ status: number; json: any }> =>
    exchange(port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`)

  void test('order.spelling: what nginx.conf denies is reached with no other spelling, though the server has it on the same port', async (t) => {
    const { app, port } = await behind(t)
    const paths = ['/admin/v1/owners', `/admin/v1/agents/${app.caller.agentId}`, '/console/agents', '/metrics']
    for (const path of paths)
      for (const target of [path, `${path}?limit=1`, ...spellingsOf(path)]) {
        const { status, json } = await ask(port, target)
        assert.ok(status === 404 || status === 400, `${target}: ${status}`)
        assert.equal(json.error.code, status === 404 ? 'not_found' : 'bad_request', target)
      }
  })

  void test('order.spelling: without the rule of nginx.conf, the path itself is served and its other spellings are not', async (t) => {
    const { port } = await behind(t, { change: (conf) => swap(conf, denied, '') })
    assert.equal((await ask(port, '/admin/v1/owners')).status, 200)
    for (const target of spellingsOf('/admin/v1/owners')) {
      const { status } = await ask(port, target)
      assert.ok(status === 404 || status === 400, `${target}: ${status}`)
    }
  })
})

void describe('nginx: several servers', options, () => {
  void test('a server that is down is skipped: no caller notices', async (t) => {
    const app = await startTestApp()
    t.after(() => app.close())
    const dead = createServer().listen(0, '127.0.0.1')
    await once(dead, 'listening')
    const url = `http://127.0.0.1:${(dead.address() as AddressInfo).port}`
    dead.close()
    await once(dead, 'close')
    const front = await startNginx(t, [url, app.url])
    const caller = new TestClient(front.url, app.adminUrl)
    caller.caller = app.caller
    for (let turn = 0; turn < 6; turn++) assert.equal((await caller.chat(`${turn}`)).status, 200)
    assert.ok(
      front.accessLog().some((line) => line.includes(', ')),
      'nginx tried both',
    )
  })

  void test('a POST whose server died during it goes to the next one; without non_idempotent the caller has to retry', async (t) => {
    for (const shipped of [true, false]) {
      const app = await startTestApp()
      t.after(() => app.close())
      const dying = createServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1')
      await once(dying, 'listening')
      t.after(() => dying.close())
      const url = `http://127.0.0.1:${(dying.address() as AddressInfo).port}`
      const front = await startNginx(t, [url, app.url], (conf) =>
        shipped ? conf : swap(conf, 'error timeout non_idempotent', 'error timeout'),
      )
      const caller = new TestClient(front.url, app.adminUrl)
      caller.caller = app.caller
      const statuses: number[] = []
      for (let turn = 0; turn < 4; turn++) statuses.push((await caller.chat(`${turn}`)).status)
      assert.equal(statuses.includes(503), !shipped, String(statuses))
    }
  })

  void test("a response is never retried elsewhere: a server's 503 goes to the caller as that server sent it", async (t) => {
    const refuse = (): never => {
      throw new ApiError('service_unavailable')
    }
    await using first = await startTestLayer({ begin: refuse })
    await using second = await startTestLayer({ begin: refuse })
    const front = await startNginx(t, [first.url, second.url])
    const response = await fetch(`${front.url}${chatPath}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'k' },
      body: body(),
    })
    assert.equal(response.status, 503)
    await response.text()
    assert.equal(first.started.length + second.started.length, 1)
  })
})

void describe('nginx: three processes on one database', { skip: options.skip || noFleet() }, () => {
  void test('idempotency.in-progress: one is killed with 50 streams under way: every caller who retries through nginx gets the one reply', async (t) => {
    const fleet = await Fleet.begin(t, { count: 3 })
    const front = await startNginx(
      t,
      fleet.servers.map((server) => server!.url),
    )
    const held = gate()
    fleet.model.when('stream', (call) => ['Here is ', held, call.lastUserMessage])
    const requests = Array.from({ length: 50 }, (_, index) => fleet.sent(`stream ${index}`, { user: `user-${index}`, transport: 'stream' }))
    // A busy machine may be too slow for all at once.
    const tooMuch = ['service_unavailable', 'api_rate_limit_unavailable']
    const first = requests.map(async (sent) => {
      let outcome = await fleet.try(sent, front.url)
      while (outcome.kind === 'error' && tooMuch.includes(outcome.code)) outcome = await fleet.try(sent, front.url)
      return outcome
    })
    await fleet.model.waitForCalls(50)
    await fleet.kill(1)
    held.open()
    const outcomes = await Promise.all(first)
    const broken = outcomes.filter(({ kind }) => kind === 'cut').length
    // Each of the three had its share, and the turns of the other two were not affected.
    assert.ok(broken >= 5 && broken <= 30, `${broken} of 50 streams were cut`)
    assert.equal(outcomes.filter(({ kind }) => kind === 'reply').length, 50 - broken)

    const reported = await Promise.all(requests.map((sent) => fleet.send(sent, { choose: () => front.url })))
    for (const [index, outcome] of outcomes.entries()) if (outcome.kind === 'reply') assert.equal(reported[index]!.reply, outcome.reply)
    // The dead process gets no more requests: nginx uses another one.
    assert.deepEqual(
      reported.flatMap(({ met }) => met).filter((met) => met === 'broken' || met === 'cut'),
      [],
    )
    await fleet.checkReplies(reported)
    t.diagnostic(`${broken} of 50 streams were cut by the kill; all 50 callers have their one reply`)
  })
})

/** Headers that matter to a caller; nginx and Node each write the connection's in their own way. */
function reported(all: Headers): Record<string, string> {
  const wire = ['connection', 'keep-alive', 'date', 'server', 'transfer-encoding', 'content-length']
  const changing = ['x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
  return Object.fromEntries(
    [...all].filter(([name]) => !wire.includes(name)).map(([name, value]) => [name, changing.includes(name) ? 'there' : value]),
  )
}

const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, '"request_id":""')
