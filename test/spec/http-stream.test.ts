/** Streams (docs/spec.md, "Streaming"): what is sent and when, with callers that disconnect or do not read. */
import assert from 'node:assert/strict'
import { on } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RawSocket } from '../support/raw-socket.ts'
import { parseEvents, splitEvents } from '../support/test-app.ts'
import { ScriptedTurn, body, chatPath, startTestLayer } from '../support/test-http-layer.ts'

const request = `POST ${chatPath}/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: ${body().length}\r\n\r\n${body()}`
const kibibyte = 1024

async function openStream(port: number): Promise<RawSocket> {
  const raw = await RawSocket.open(port)
  raw.write(request)
  await raw.until('response.created')
  return raw
}

/** Names of the events, and the text of the deltas put together. */
function eventsOf(raw: RawSocket): { names: string[]; deltas: string; last: any } {
  const events = parseEvents(raw.answers[0]!.body)
  const deltas = events.filter(({ event }) => event === 'response.output_text.delta').map(({ data }) => data.delta)
  return { names: events.map(({ event }) => event), deltas: deltas.join(''), last: events.at(-1)!.data }
}

void test('stream.established: headers and response.created leave before any delta', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  using raw = await openStream(layer.port)
  const { status, headers, body: sent } = raw.answers[0]!
  assert.equal(status, 200)
  const { date, ...rest } = headers
  assert.ok(date)
  assert.deepEqual(rest, {
    'x-request-id': turn.requestId,
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    connection: 'keep-alive',
    'keep-alive': 'timeout=75',
    'transfer-encoding': 'chunked',
  })
  assert.deepEqual(splitEvents(sent), [{ event: 'response.created', data: { request_id: turn.requestId, conversation_id: 'conv_door' } }])
  turn.complete()
})

void test('stream: each delta is a separate event, in order, and response.completed carries the whole text', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  using raw = await openStream(layer.port)
  const said = ['Hel', 'lo', ' ', 'there', '\n\ndata: x\n\nevent: error\n\n', '\u2028\r\n', '😀']
  for (const delta of said) turn.say(delta)
  turn.complete()
  await raw.until('0\r\n\r\n')
  const { names, deltas, last } = eventsOf(raw)
  assert.deepEqual(names, ['response.created', ...said.map(() => 'response.output_text.delta'), 'response.completed'])
  assert.equal(deltas, said.join(''))
  assert.equal(last.message.content, said.join(''))
  assert.equal(last.request_id, turn.requestId)
})

void test('stream: the first delta leaves immediately, and deltas of one tick leave in one write', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  using raw = await openStream(layer.port)
  turn.say('first')
  await raw.until('"first"')
  for (const delta of ['a', 'b', 'c']) {
    await Promise.resolve()
    turn.say(delta)
  }
  await raw.until('"c"')
  const chunks = raw.received.split('\r\n\r\n').slice(1).join('\r\n\r\n').split('\r\n')
  const withDeltas = chunks.filter((chunk) => chunk.includes('delta'))
  assert.deepEqual(
    withDeltas.map((chunk) => splitEvents(chunk).map(({ data }) => data.delta)),
    [['first'], ['a', 'b', 'c']],
  )
  turn.complete()
})

void test('stream: pipelined streams on one connection each arrive whole, with characters of any width', async () => {
  const turns = [new ScriptedTurn(), new ScriptedTurn()] as const
  let next = 0
  await using layer = await startTestLayer({ begin: () => turns[next++]!.started })
  using raw = await RawSocket.open(layer.port)
  raw.write(request + request)
  await Promise.all(turns.map(({ listening }) => listening))
  // The second waits for the connection, and generates its whole reply meanwhile.
  for (const turn of [turns[1], turns[0]]) {
    for (const delta of ['ä', '€uro', '👋 ', '\n']) turn.say(delta)
    await Promise.resolve()
    turn.say('end')
    turn.complete()
  }
  await raw.until(/response\.completed[^]*response\.completed[^]*\r\n0\r\n\r\n$/)
  assert.equal(raw.answers.length, 2)
  for (const [index, answer] of raw.answers.entries()) {
    const events = parseEvents(answer.body)
    assert.deepEqual(
      events.map(({ data }) => data.delta).filter((delta) => delta !== undefined),
      ['ä', '€uro', '👋 ', '\n', 'end'],
    )
    assert.equal(events.at(-1)!.data.request_id, turns[index]!.requestId)
  }
})

void test('stream: an HTTP/1.0 caller gets the stream without chunked encoding, and then the end of the connection', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  using raw = await RawSocket.open(layer.port)
  raw.write(request.replace('HTTP/1.1', 'HTTP/1.0'))
  await raw.until('response.created')
  turn.say('ä')
  turn.complete()
  await raw.rest()
  const { headers, body: sent } = raw.answers[0]!
  assert.deepEqual([headers['transfer-encoding'], headers['connection']], [undefined, 'close'])
  assert.deepEqual(
    parseEvents(sent).map(({ event }) => event),
    ['response.created', 'response.output_text.delta', 'response.completed'],
  )
  assert.match(sent, /^event: response\.created\n[^]*\n\n$/)
})

void test('stream: a turn that fails after the headers ends the stream with an error event', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  using raw = await openStream(layer.port)
  turn.say('half')
  turn.fail('insufficient_balance')
  await raw.until('0\r\n\r\n')
  const { names, last } = eventsOf(raw)
  assert.deepEqual(names, ['response.created', 'response.output_text.delta', 'error'])
  assert.deepEqual(Object.keys(last), ['code', 'message', 'request_id'])
  assert.deepEqual([last.code, last.request_id], ['insufficient_balance', turn.requestId])
})

void test("chat: a turn that fails while /chat waits is JSON with its status, under the turn's request id", async () => {
  const turn = new ScriptedTurn()
  turn.fail('service_unavailable')
  await using layer = await startTestLayer({ begin: () => turn.started })
  const response = await layer.chat()
  const { error } = (await response.json()) as { error: Record<string, string> }
  assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '5'])
  assert.deepEqual([error['request_id'], response.headers.get('x-request-id')], [turn.requestId, turn.requestId])
})

void test('stream.established: a comment line keeps a quiet stream open', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started, times: { heartbeatMs: 20 } })
  using raw = await openStream(layer.port)
  await raw.until(/(:\n\n[^]*){3}/)
  turn.say('late')
  turn.complete()
  await raw.until('0\r\n\r\n')
  assert.deepEqual(eventsOf(raw).names, ['response.created', 'response.output_text.delta', 'response.completed'])
})

void test('fault.caller-gone-mid-reply: a caller that disconnects ends the subscription, not the turn', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started })
  const raw = await openStream(layer.port)
  raw.socket.resetAndDestroy()
  await turn.left
  turn.say('unheard')
  turn.complete()
  await turn.end
  assert.equal((await fetch(`${layer.url}/healthz`)).status, 200)
  assert.deepEqual(layer.logged, [])
})

const piece = 'x'.repeat(4 * kibibyte)

/** Lets the server write until nothing moves any more. */
async function sayMuch(turn: ScriptedTurn, pieces: number): Promise<void> {
  for (let at = 0; at < pieces; at++) {
    turn.say(piece)
    if (at % 16 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Reads at least this many characters, then stops. */
async function take(raw: RawSocket, characters: number): Promise<void> {
  const pieces = on(raw.socket, 'data', { close: ['end', 'close'] })
  raw.socket.resume()
  let taken = 0
  for await (const [text] of pieces) {
    taken += text.length
    if (taken >= characters) break
  }
  raw.socket.pause()
  assert.ok(taken >= characters, `cut off after ${taken} characters`)
}

void test('fault.slow-reader stream.slow-reader: deltas are dropped over 256 KiB unsent, response.completed carries the whole text, other streams are not affected', async () => {
  const [slow, quick] = [new ScriptedTurn(), new ScriptedTurn()]
  const turns = [slow, quick]
  await using layer = await startTestLayer({ begin: () => turns.shift()!.started })
  using paused = await openStream(layer.port)
  paused.socket.pause()
  using reading = await openStream(layer.port)
  // 32 MiB: far more than the kernel buffers for the caller that does not read.
  const before = process.memoryUsage().rss
  const order: string[] = []
  const saying = sayMuch(slow, 8192).then(() => order.push('all was said'))
  quick.say('quick')
  await reading.until('"quick"')
  order.push('quick arrived')
  await saying
  const grown = process.memoryUsage().rss - before
  slow.complete()
  await slow.end
  quick.complete()
  await reading.until('0\r\n\r\n')
  paused.socket.resume()
  await paused.until('0\r\n\r\n')
  const { names, deltas, last } = eventsOf(paused)
  assert.deepEqual([names[0], names.at(-1)], ['response.created', 'response.completed'])
  assert.equal(last.message.content.length, 32 * kibibyte * kibibyte)
  assert.ok(deltas.length > 0 && deltas.length < last.message.content.length / 2, 'most deltas were dropped')
  assert.ok(last.message.content.startsWith(deltas), 'what was sent is the beginning of the reply')
  assert.deepEqual(order, ['quick arrived', 'all was said'])
  assert.ok(grown < 128 * kibibyte * kibibyte, `${grown / kibibyte ** 2} MiB`)
})

void test('fault.slow-reader stream.slow-reader: after a dropped delta none follows, even when the reader has caught up', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started, times: { heartbeatMs: 200 } })
  using raw = await openStream(layer.port)
  raw.socket.pause()
  await sayMuch(turn, 4096)
  raw.socket.resume()
  // A comment line is sent only when nothing is unsent.
  await raw.until('\r\n3\r\n:\n\n')
  turn.say('late')
  turn.complete()
  await raw.until('0\r\n\r\n')
  const { deltas, last } = eventsOf(raw)
  assert.ok(deltas.length < last.message.content.length - 'late'.length, 'some were dropped')
  assert.ok(last.message.content.startsWith(deltas), 'what was sent is the beginning of the reply')
})

void test('fault.slow-reader stream.slow-reader: a reader that makes no progress is cut off in time, and the turn goes on', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started, times: { stallMs: 2000, heartbeatMs: 50 } })
  using raw = await openStream(layer.port)
  raw.socket.pause()
  await sayMuch(turn, 4096)
  const cut = turn.left.then(() => 'cut off')
  // The kernel took a part of the newest write, which would restart Node's own timeout. A time in which the process stands still hardly counts
  // for the server, and here it is one round of more than 3 s in total.
  let state = 'still there'
  for (let round = 0; round < 300 && state !== 'cut off'; round++) state = await Promise.race([cut, sleep(10, 'still there')])
  assert.equal(state, 'cut off')
  turn.complete()
  assert.equal((await turn.end).kind, 'completed')
})

void test('fault.slow-reader stream.slow-reader: a reader that makes progress is not cut off, even when it takes only parts of one write', async () => {
  const turn = new ScriptedTurn()
  const stallMs = 900
  await using layer = await startTestLayer({ begin: () => turn.started, times: { stallMs } })
  using raw = await openStream(layer.port)
  raw.socket.pause()
  await sayMuch(turn, 8192)
  // The whole reply in one write, 32 MiB: more than the kernel buffers.
  turn.complete()
  for (let part = 1; part <= 12; part++) {
    await take(raw, 2 * kibibyte ** 2)
    await sleep(stallMs / 3)
  }
  raw.socket.resume()
  await raw.until('0\r\n\r\n')
  assert.equal(eventsOf(raw).names.at(-1), 'response.completed')
})

void test('fault.slow-reader stream.slow-reader: a quiet stream is not cut off while its reader reads', async () => {
  const turn = new ScriptedTurn()
  await using layer = await startTestLayer({ begin: () => turn.started, times: { stallMs: 200, heartbeatMs: 50 } })
  using raw = await openStream(layer.port)
  await raw.until(/(:\n\n[^]*){10}/)
  turn.complete()
  await raw.until('response.completed')
})
