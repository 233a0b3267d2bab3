/**
 * Callers that disconnect before the first delta or between two deltas, that half-close and keep reading, and that do not read. Over raw
 * sockets to the whole service: the turn belongs to the server, whatever happens to the connection.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { cut, gate } from '../support/model-server.ts'
import type { Gate, Part } from '../support/model-server.ts'
import { answeredOnce, makeSent, names, send, transports } from '../support/outcome.ts'
import type { Sent } from '../support/outcome.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { storeKind } from '../support/store-under-test.ts'
import { parseEvents, startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

/** The request as bytes. */
function bytesOf({ caller, idempotencyKey, message, user, transport }: Sent): string {
  const body = JSON.stringify({ external_user_id: user, message })
  const path = `/v1/agents/${caller.agentId}/${transport === 'chat' ? 'chat' : 'chat/stream'}`
  const headers = {
    Host: 'x',
    Authorization: `Bearer ${caller.apiKey}`,
    'Idempotency-Key': idempotencyKey,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

async function open(app: TestApp, sent: Sent): Promise<RawSocket> {
  const raw = await RawSocket.open(Number(new URL(app.url).port))
  raw.write(bytesOf(sent))
  return raw
}

/** Resolves when the service has seen the end of the connection, which arrived before this request on another one. */
const seen = async (app: TestApp): Promise<void> => void (await (await fetch(`${app.url}/healthz`)).text())

for (const transport of transports) {
  void test(`fault.caller-gone-before-text: a caller of ${transport} disconnects before the first delta: the turn completes, and the retry gets its replay`, async () => {
    await using app = await startTestApp()
    const sent = await makeSent(app, 'hello', { transport })
    const held = gate()
    app.model.when('hello', [held, 'all ', 'of it'])
    using raw = await open(app, sent)
    if (transport === 'stream') await raw.until('response.created')
    await held.reached
    raw.socket.resetAndDestroy()
    await seen(app)
    const running = await send(app, sent)
    assert.deepEqual([running.status, running.code, running.answer.headers.get('retry-after')], [409, 'idempotency_in_progress', '2'])
    held.open()
    await answeredOnce(app, sent, { content: 'all of it' })
  })

  void test(`fault.caller-gone-before-text: a caller of ${transport} disconnects with the last byte of the request: at most one turn runs, and the retry is answered`, async () => {
    await using app = await startTestApp()
    for (const how of ['reset', 'end'] as const) {
      const sent = await makeSent(app, `hello and ${how}`, { transport })
      using raw = await open(app, sent)
      if (how === 'reset') raw.socket.resetAndDestroy()
      else raw.socket.destroy()
      await seen(app)
      await answeredOnce(app, sent, { content: `You said: hello and ${how}` })
    }
  })
}

const pieces = ['a', 'bc', 'def', 'ghij', 'klmno', 'pqrstu']
/** Each piece waits behind a separate gate. */
const gated = (gates: Gate[]): Part[] => pieces.flatMap((piece, n) => [gates[n]!, piece])

void test('fault.caller-gone-mid-reply: a caller disconnects after any number of deltas: the reply is stored whole, and a retry gets no deltas', async () => {
  await using app = await startTestApp()
  for (let gone = 1; gone <= pieces.length; gone++) {
    const sent = await makeSent(app, `gone after ${gone}`, { transport: 'stream' })
    const gates = pieces.map(() => gate())
    app.model.when(sent.message, gated(gates))
    using raw = await open(app, sent)
    for (const [n, held] of gates.slice(0, gone).entries()) {
      held.open()
      await raw.until(`{"delta":"${pieces[n]}"}`)
    }
    raw.socket.resetAndDestroy()
    await seen(app)
    for (const held of gates) held.open()
    await answeredOnce(app, sent, { content: pieces.join('') })
  }
})

void test('fault.caller-gone-mid-reply: a caller of /chat disconnects while the model generates: the turn completes, and the retry gets its replay', async () => {
  await using app = await startTestApp()
  const sent = await makeSent(app, 'hello')
  const gates = pieces.map(() => gate())
  app.model.when('hello', gated(gates))
  using raw = await open(app, sent)
  for (const held of gates.slice(0, 3)) held.open()
  await gates[3]!.reached
  raw.socket.resetAndDestroy()
  await seen(app)
  for (const held of gates) held.open()
  await answeredOnce(app, sent, { content: pieces.join('') })
})

void test('fault.caller-gone-mid-reply: a caller disconnects while the model breaks off: the turn is released, and the same key runs again', async () => {
  await using app = await startTestApp()
  const sent = await makeSent(app, 'hello', { transport: 'stream' })
  const held = gate()
  app.model.script(['half', held, cut('rst')])
  using raw = await open(app, sent)
  await raw.until('{"delta":"half"}')
  raw.socket.resetAndDestroy()
  await seen(app)
  held.open()
  await app.model.calls[0]!.ended
  await answeredOnce(app, sent, { content: 'You said: hello', calls: 2 })
})

for (const transport of transports) {
  void test(`fault.caller-half-closes: a caller of ${transport} that sends FIN and keeps reading gets the whole response`, async () => {
    await using app = await startTestApp()
    const sent = await makeSent(app, 'hello', { transport })
    const held = gate()
    app.model.when('hello', ['all ', held, 'of it'])
    using raw = await open(app, sent)
    await held.reached
    raw.socket.end()
    await once(raw.socket, 'finish')
    await seen(app)
    held.open()
    await raw.rest()
    assert.ok(raw.ended, 'the service ended the connection in good order')
    assert.equal(raw.answers.length, 1, raw.received)
    const [answer] = raw.answers
    const reply = await answeredOnce(app, sent, { content: 'all of it' })
    if (transport === 'chat') return assert.deepEqual(answer!.json, reply)
    const events = parseEvents(answer!.body)
    const delta = 'response.output_text.delta'
    assert.equal(names(events), `response.created ${delta} ${delta} response.completed`)
    assert.deepEqual(events.at(-1)!.data, reply)
  })
}

const slowReaders = 6
// 5 MiB: more than the kernel buffers for a connection, which is about 3 MiB here, and less than the longest reply.
const long = { piece: 'x'.repeat(16 * 1024), pieces: 320 }

// What waits for a reader does so in the HTTP layer, whatever the store, and that much text takes a database half a minute.
if (storeKind === 'sqlite')
  void test(
    'fault.slow-reader stream.slow-reader: callers that do not read cost a quarter of a MiB each, and their turns end in time',
    slowReadersCost,
  )

async function slowReadersCost(t: TestContext): Promise<void> {
  await using app = await startTestApp()
  const agent = { max_output_tokens: 200_000, price: { prompt_usd_per_million: '0.01', completion_usd_per_million: '0.01' } }
  const gates = new Map<string, Gate>()
  app.model.when('reads', ({ lastUserMessage }) => [
    ...Array.from({ length: long.pieces }, () => long.piece),
    gates.get(lastUserMessage)!,
    'end',
  ])
  const begin = async (message: string, reads: boolean): Promise<{ sent: Sent; raw: RawSocket }> => {
    const held = gate()
    gates.set(message, held)
    const sent = await makeSent(app, message, { transport: 'stream', agent })
    const raw = await open(app, sent)
    // What the readers read is discarded, and what is sent to the others is not read.
    raw.socket.removeAllListeners('data')
    if (reads) raw.socket.resume()
    else raw.socket.pause()
    await held.reached
    return { sent, raw }
  }

  // What is loaded and compiled for the first request is not measured.
  const first = await begin('reads first', true)
  gates.get('reads first')!.open()
  await until('the first has ended', async () => app.app.turns.running === 0)
  first.raw.socket.destroy()
  // A database connection keeps the last thing it sent, so that should be short.
  for (const n of [1, 2, 3]) await answeredOnce(app, await makeSent(app, `short ${n}`), { content: `You said: short ${n}` })

  // Both kinds hold the text of their turns, so what the second kind needs beyond the first is what waits for a reader.
  const needed: number[] = []
  const callers: { sent: Sent; raw: RawSocket }[] = []
  for (const reads of [true, false]) {
    const before = await liveBytes()
    const started = Array.from({ length: slowReaders }, (_, n) => begin(`${reads ? 'reads' : 'never reads'} ${n}`, reads))
    callers.push(...(await Promise.all(started)))
    needed.push((await liveBytes()) - before)
  }
  const each = (needed[1]! - needed[0]!) / slowReaders
  t.diagnostic(
    `${Math.round(needed[0]! / slowReaders / 1024)} KiB a stream that is read, ${Math.round(each / 1024)} KiB more for one that is not`,
  )
  // 256 KiB unsent (`stream.slow-reader`), and as much again for what else a process retains; without that bound it would be more than a
  // MiB.
  assert.ok(each <= 2 * 262_144, `${Math.round(each / 1024)} KiB`)

  const quick = await makeSent(app, 'quick', { transport: 'stream' })
  await answeredOnce(app, quick, { content: 'You said: quick' })

  for (const held of gates.values()) held.open()
  // No one reads, and all turns end: none waits for its reader.
  await until('every turn has ended', async () => app.app.turns.running === 0)
  const content = `${long.piece.repeat(long.pieces)}end`
  // Until the unread connection has closed, its key gets no second response of this size (`overload.unread`).
  for (const { raw } of callers) raw.socket.destroy()
  const { sent } = callers.at(-1)!
  await until('its key gets the reply', async () => (await send(app, { ...sent, transport: 'chat' })).status === 200)
  await answeredOnce(app, sent, { content })
}

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

/** The memory that this process, with the service in it, retains once nothing changes any more. */
async function liveBytes(): Promise<number> {
  let last = Infinity
  for (;;) {
    await pass(100)
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    if (Math.abs(heapUsed + external - last) < 64 * 1024) return heapUsed + external
    last = heapUsed + external
  }
}
