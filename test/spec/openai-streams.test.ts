/** The streams of the OpenAI endpoints at the connection: slow readers, another text, and how a text is cut into events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CompletionChunks } from '../../src/http/openai/completion-object.ts'
import { ResponseEvents } from '../../src/http/openai/response-events.ts'
import { cutPieces } from '../../src/http/openai/pieces.ts'
import type { EventFormat } from '../../src/http/public/event-stream.ts'
import { TurnText } from '../../src/turn/turn-text.ts'
import { RawSocket } from '../support/raw-socket.ts'
import { ScriptedTurn, startTestLayer, storedReply } from '../support/test-http-layer.ts'
import type { TestLayer } from '../support/test-http-layer.ts'
import { dataOf } from '../support/openai-caller.ts'
import type { Json } from '../support/test-app.ts'

const requestId = '0193a6e2-5d4c-7b1a-9f3e-2c8d7a6b5e41'
const facts = { requestId, conversationId: 'conv_1', model: 'agt_1', user: 'u', background: false, previousResponseId: null }
const formats: Record<string, (fence?: number) => EventFormat> = {
  '/v1/chat/completions': () => new CompletionChunks(requestId, 'agt_1', false),
  '/v1/responses': (fence = 1) => new ResponseEvents(facts, fence),
}
const bodies: Record<string, Json> = {
  '/v1/chat/completions': { model: 'agt_door', user: 'u', stream: true, messages: [{ role: 'user', content: 'hello' }] },
  '/v1/responses': { model: 'agt_door', user: 'u', stream: true, input: 'hello' },
}

const deltaOf = (event: Json): string =>
  event['type'] === 'response.output_text.delta' ? (event['delta'] as string) : ((event['choices']?.[0]?.delta?.content as string) ?? '')
const textOf = (events: Json[]): string => events.map(deltaOf).join('')

async function openStream(layer: TestLayer, path: string): Promise<RawSocket> {
  const raw = await RawSocket.open(layer.port)
  const body = JSON.stringify(bodies[path])
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  raw.write(head + body)
  await raw.until('\r\n\r\n')
  return raw
}

for (const path of Object.keys(bodies))
  void test(`openai.same-turn stream.slow-reader: ${path} drops deltas for a slow reader, and sends the rest of the text before the end`, async () => {
    const turn = new ScriptedTurn()
    await using layer = await startTestLayer({ begin: () => turn.started })
    using raw = await openStream(layer, path)
    raw.socket.pause()
    for (let piece = 0; piece < 2048; piece++) {
      turn.say('word '.repeat(400))
      if (piece % 64 === 0) await new Promise(setImmediate)
    }
    turn.complete()
    await turn.end
    raw.socket.resume()
    await raw.until('0\r\n\r\n')
    const [answer] = raw.answers
    const events = dataOf(answer!.body)
    assert.equal(textOf(events), turn.content)
    const last = path === '/v1/responses' ? events.at(-1)!['type'] : events.at(-2)!['choices'][0].finish_reason
    assert.equal(last, path === '/v1/responses' ? 'response.completed' : 'stop')
  })

for (const [path, make] of Object.entries(formats)) {
  void test(`openai.resume: ${path} starts again silently before any text, and ends with an error after text`, () => {
    for (const isShown of [false, true]) {
      const format = make()
      const text = new TurnText()
      const sent = [format.first]
      let [ended, isReset] = [false, false]
      const listener = {
        onText: (delta: string, position: { offset: number; checksum: number }) => {
          if (ended) return
          sent.push(format.text(delta, position))
          if (isShown || isReset) format.accepted()
        },
        onReset: () => {
          const { events, isLast } = format.reset()
          sent.push(events)
          ended = isLast
          isReset = true
        },
      }
      text.listen(listener)
      text.append('The first text is here.')
      if (!isShown) sent.length = 1
      text.startOver()
      text.append('Another text, which is longer.')
      text.complete('Another text, which is longer.')
      if (!ended) sent.push(format.last({ kind: 'completed', reply: storedReply('Another text, which is longer.', requestId) }))
      const events = dataOf(sent.join(''))
      assert.equal(ended, isShown)
      if (isShown) assert.equal(events.at(-1)!['code'] ?? events.at(-1)!['error'].code, 'response_regenerated')
      else assert.equal(textOf(events), 'Another text, which is longer.')
    }
  })
}

void test('openai.resume: after an error that is not the end of the response, the rest follows without a gap', () => {
  const whole = 'Hello wide world again.'
  const unknown = { kind: 'failed', code: 'service_unavailable', state: null } as const
  // The last one has text that was dropped for a slow reader.
  for (const [received, dropped, after] of [
    ['', '', undefined],
    ['Hello wide ', '', undefined],
    ['Hello wide ', '', 2],
    ['Hello wide ', '', 4],
    ['Hello ', '', 5],
    ['Hello ', 'wide world ', undefined],
  ] as const) {
    const before = new ResponseEvents(facts, 1, after)
    const sent = [before.first, before.text(received, { offset: received.length, checksum: 0 })]
    before.accepted()
    if (dropped) before.text(dropped, { offset: received.length + dropped.length, checksum: 0 })
    const error = dataOf(before.last(unknown)).at(-1)!
    assert.deepEqual([error['type'], error['code']], ['error', 'service_unavailable'])
    const last = dataOf(sent.join('')).at(-1)?.['sequence_number'] ?? after
    assert.equal(error['sequence_number'], last)
    const rest = new ResponseEvents(facts, 1, last as number)
    const next = dataOf(rest.last({ kind: 'completed', reply: storedReply(whole, requestId) }))[0]!
    assert.equal(next['sequence_number'], (last as number) + 1)
  }
})

void test('openai.resume: where a text is cut depends on the text alone, in whatever pieces it arrives', () => {
  const letters = fc.constantFrom('a', 'word', ' ', '\n', '.', ',', 'é', '雨', '🌧', '👩‍👩‍👧', '\u0301', '3', '"', 'https://example.com/')
  const long = fc.integer({ min: 0, max: 3000 }).map((length) => 'x'.repeat(length))
  const texts = fc.array(fc.oneof({ weight: 20, arbitrary: letters }, { weight: 1, arbitrary: long }), { maxLength: 200 })
  fc.assert(
    fc.property(texts, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (parts, lengths) => {
      const text = parts.join('')
      const whole = cutPieces(text, 0, 0, true).pieces
      assert.equal(whole.join(''), text)
      const format = new ResponseEvents(facts, 1)
      const events = [format.first]
      for (let at = 0, turn = 0; at < text.length; turn++) {
        const length = lengths[turn % lengths.length]!
        const delta = text.slice(at, at + length)
        at += delta.length
        events.push(format.text(delta, { offset: at, checksum: 0 }))
        format.accepted()
      }
      events.push(format.last({ kind: 'completed', reply: storedReply(text, requestId) }))
      const read = dataOf(events.join(''))
      assert.deepEqual(
        read.map(({ sequence_number: number }) => number),
        read.map((_, index) => index),
      )
      assert.deepEqual(
        read.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta),
        whole,
      )
      for (const piece of whole) assert.ok(piece.isWellFormed() || !text.isWellFormed(), JSON.stringify(piece))
    }),
  )
})

void test('openai.resume: the longest reply has fewer events than an attempt has numbers', () => {
  for (const character of ['a', 'a ', '雨', '.'])
    assert.ok(cutPieces(character.repeat(8_388_608 / character.length), 0, 0, true).pieces.length < 20_000, character)
})
