/**
 * `overload.bodies`: large bodies of several owners at the same time. Each body is sent without its last byte, so the test decides when and in
 * which order they are complete.
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { RawSocket } from '../support/raw-socket.ts'
import { apiKey, startTestLayer } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'
import { until } from '../support/until.ts'

const mebibyte = 1_048_576

const startLayer = (): Promise<TestLayer> =>
  startTestLayer({
    authenticate: (authorization = '') => ({
      kind: 'authenticated',
      apiKey: { ...apiKey, id: `key_${authorization}`, ownerId: authorization.slice('Bearer '.length) },
    }),
    // A busy machine may need longer than a caller gets.
    times: { requestMs: 600_000 },
  })

/** The fields of a message in the form of each surface that takes one. */
const fieldsOf: Record<string, (user: string) => string> = {
  '/v1/agents/agt_door/chat': (user) => `"external_user_id":"${user}","message":"m"`,
  '/v1/agents/agt_door/chat/stream': (user) => `"external_user_id":"${user}","message":"m"`,
  '/v1/chat/completions': (user) => `"model":"agt_door","user":"${user}","messages":[{"role":"user","content":"m"}]`,
  '/v1/responses': (user) => `"model":"agt_door","user":"${user}","input":"m"`,
  '/mcp': (user) =>
    `"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test-agent","arguments":{"external_user_id":"${user}","message":"m"}}`,
}
const [chat = ''] = Object.keys(fieldsOf)

/** A connection on which a request has been sent, but not the last byte of its body. */
class UnfinishedBody implements Disposable {
  readonly raw: RawSocket
  readonly sent: number

  private constructor(raw: RawSocket, sent: number) {
    this.raw = raw
    this.sent = sent
  }

  static async send(layer: TestLayer, sender: { owner: string; user?: string; path?: string; bytes: number }): Promise<UnfinishedBody> {
    const { owner, user = owner, path = chat, bytes } = sender
    const open = `{${fieldsOf[path]!(user)}`
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${owner}`,
      `Idempotency-Key: ${user}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      `Content-Length: ${bytes}`,
    ]
    const text = `${head.join('\r\n')}\r\n\r\n${open}${' '.repeat(bytes - open.length - 1)}`
    const raw = await RawSocket.open(layer.port)
    raw.write(text)
    return new UnfinishedBody(raw, text.length)
  }

  finish(): void {
    this.raw.write('}')
  }

  /** The status of the response, undefined before it arrives. */
  get status(): number | undefined {
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(this.raw.received) ?? []
    return status === undefined ? undefined : Number(status)
  }

  get port(): number {
    return this.raw.socket.localPort!
  }

  [Symbol.dispose](): void {
    this.raw[Symbol.dispose]()
  }
}

/** The server's sockets, by the port of the caller. */
function watchServed(): { read(port: number): number; isGone(port: number): boolean } & Disposable {
  const served = new Map<number | undefined, Socket>()
  const onServed = (message: unknown): void => {
    const { socket } = message as { socket: Socket }
    served.set(socket.remotePort, socket)
  }
  subscribe('net.server.socket', onServed)
  return {
    read: (port) => served.get(port)?.bytesRead ?? 0,
    isGone: (port) => served.get(port)?.destroyed ?? false,
    [Symbol.dispose]: () => void unsubscribe('net.server.socket', onServed),
  }
}

for (const path of Object.keys(fieldsOf)) {
  void test(`overload.bodies: on ${path}, the large body of an owner does not wait for all bodies of another one`, async () => {
    await using layer = await startLayer()
    using served = watchServed()
    const users = [...Array.from({ length: 12 }, (_, at) => `busy-${at}`), 'other']
    using stack = new DisposableStack()
    const sent: UnfinishedBody[] = []
    for (const user of users)
      sent.push(stack.use(await UnfinishedBody.send(layer, { owner: user.split('-', 1)[0]!, user, path, bytes: 100_000 })))
    await until('the server has all bytes but the last ones', () => sent.every(({ port, sent: bytes }) => served.read(port) === bytes))
    for (const one of sent) one.finish()
    await until('all messages have started', () => layer.started.length === users.length)
    // The first body is parsed, then the owners take turns.
    assert.ok(
      layer.started.findIndex(({ externalUserId }) => externalUserId === 'other') <= 2,
      layer.started.map((one) => one.externalUserId).join(' '),
    )
  })
}

void test('overload.bodies: the unfinished large bodies of an owner have 16 MiB together, and those of others are read', async () => {
  await using layer = await startLayer()
  using stack = new DisposableStack()
  const sent: UnfinishedBody[] = []
  for (let at = 0; at < 24; at++)
    sent.push(stack.use(await UnfinishedBody.send(layer, { owner: 'busy', user: `busy-${at}`, bytes: mebibyte })))
  const refused = (): UnfinishedBody[] => sent.filter(({ status }) => status !== undefined)
  await until('those beyond 16 MiB are refused', () => refused().length >= 8)
  for (const { raw } of refused()) {
    await raw.rest()
    const [answer] = raw.answers
    assert.deepEqual([answer!.status, answer!.json.error.code, answer!.headers['retry-after']], [503, 'service_unavailable', '5'])
    assert.match(answer!.json.error.message, /Too many request bodies have started/)
    assert.equal(answer!.headers['connection'], 'close')
  }
  using other = await UnfinishedBody.send(layer, { owner: 'other', bytes: mebibyte })
  other.finish()
  await until('the other owner has a reply', () => other.status !== undefined)
  assert.equal(other.status, 200)
  const open = sent.filter(({ status }) => status === undefined)
  for (const one of open) one.finish()
  await until('the others have a reply', () => open.every(({ status }) => status !== undefined))
  assert.deepEqual([...new Set(open.map(({ status }) => status))], [200])
})

void test('overload.bodies: what an owner has finished, and what it broke off, no longer counts', async () => {
  await using layer = await startLayer()
  using served = watchServed()
  for (const end of ['finish', 'break off', 'finish'] as const) {
    using stack = new DisposableStack()
    const sent: UnfinishedBody[] = []
    for (let at = 0; at < 15; at++)
      sent.push(stack.use(await UnfinishedBody.send(layer, { owner: 'busy', user: `busy-${at}`, bytes: mebibyte })))
    await until('the server has all bytes but the last ones', () => sent.every(({ port, sent: bytes }) => served.read(port) === bytes))
    assert.ok(sent.every(({ status }) => status === undefined))
    if (end === 'break off') {
      const ports = sent.map(({ port }) => port)
      for (const one of sent) one[Symbol.dispose]()
      await until('the server has noticed', () => ports.every((port) => served.isGone(port)))
      continue
    }
    for (const one of sent) one.finish()
    await until('all have a reply', () => sent.every(({ status }) => status !== undefined))
    assert.deepEqual([...new Set(sent.map(({ status }) => status))], [200])
  }
})
