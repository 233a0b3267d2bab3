/**
 * Damaged streams of model servers, in the four dialects: bits are flipped, bytes and events are dropped, doubled and reordered, values become
 * null. The readers are called without HTTP. They never crash or hang, report no usage above what the stream reports, and make no answer of a
 * stream that contains an error. The fast tier reads a tenth of them. `STREAMS=1000000 SEED=n node --test test/fuzz/model-streams.test.ts` runs longer.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { ModelError } from '../../src/agent/models/model.ts'
import { answerKinds, bodyOf, readBody, streamOf, wholeOf } from '../support/dialect-answers.ts'
import type { AnswerKind, Said } from '../support/dialect-answers.ts'

const streams = Number(process.env['STREAMS'] ?? (process.env['TEST_TIER'] === 'fast' ? 2_000 : 20_000))
const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))

const said: Said[] = [
  { text: ['Hel', 'lo, ', 'Grüße 😀'] },
  { text: ['<think>', 'They greet me.', '</think>', '\n\nhello'] },
  { text: ['Let me look.'], reasoning: 'They ask.', call: { name: 'get_weather', arguments: '{"city":"Bern","id":2512292042121000001}' } },
  { refusal: 'I cannot help.' },
  { text: ['Once'], finish: 'length' },
  { text: ['The user greets me.\n', '</think>', 'hello'], usage: null },
  { finish: 'filtered' },
]
const error = 'data: {"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}\n\n'

/** Mulberry32: the same numbers for the same seed, and cheap. */
function randomOf(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below) | 0
  }
}

/** The events of each base stream, as text with their end. */
const bases = answerKinds.flatMap((kind) =>
  said.map((one) => ({
    kind,
    events: bodyOf(kind, streamOf(kind, one)).match(/[^]*?\n\n/g)!,
    whole: JSON.stringify(wholeOf(kind, one)),
    most: one.usage === null ? 0 : 500 + 77,
  })),
)

type Stream = { kind: AnswerKind; pieces: Buffer[]; hasError: boolean; keepsNumbers: boolean; most: number }

function makeStream(random: (below: number) => number): Stream {
  const { kind, events, whole, most } = bases[random(bases.length)]!
  let parts = random(8) === 0 ? [whole] : [...events]
  for (let edits = random(4); edits > 0; edits--) parts = changed(parts, random)
  const hasError = random(8) === 0 && parts.every((part) => part.endsWith('\n\n'))
  // Nothing after the event that ends the answer is read.
  const end = parts.findIndex((part) => /message_stop|response\.(completed|incomplete)|\[DONE\]/.test(part))
  if (hasError) parts.splice(random((end < 0 ? parts.length : end) + 1), 0, error)
  const bytes = Buffer.from(parts.join(''))
  const keepsNumbers = random(3) > 0
  if (!keepsNumbers) damage(bytes, random)
  const at = random(bytes.length + 1)
  return { kind, pieces: [bytes.subarray(0, at), bytes.subarray(at)], hasError: hasError && keepsNumbers, keepsNumbers, most }
}

/** Drops, doubles, swaps or empties an event. No number in it changes. */
function changed(parts: string[], random: (below: number) => number): string[] {
  if (parts.length === 0) return parts
  const at = random(parts.length)
  const part = parts[at]!
  switch (random(5)) {
    case 0:
      return parts.toSpliced(at, 1)
    case 1:
      return parts.toSpliced(at, 0, part)
    case 2:
      return parts.toSpliced(at, 1).toSpliced(random(parts.length), 0, part)
    case 3:
      return parts.toSpliced(at, 1, withNull(part, random))
    default:
      return parts.toSpliced(at, 1, part.slice(0, random(part.length)))
  }
}

function withNull(part: string, random: (below: number) => number): string {
  const values = [...part.matchAll(/:("[^"]*"|\d+|\{\}|\[\])/g)]
  const found = values[random(values.length)]
  return found ? `${part.slice(0, found.index)}:null${part.slice(found.index + found[0].length)}` : part
}

function damage(bytes: Buffer, random: (below: number) => number): void {
  if (bytes.length === 0) return
  for (let flips = 1 + random(3); flips > 0; flips--) {
    const at = random(bytes.length)
    bytes[at] = bytes[at]! ^ (1 << random(8))
  }
}

test(`fuzz: ${streams} damaged streams of model servers (seed ${seed})`, (t) => {
  const random = randomOf(seed)
  const startedAt = performance.now()
  let answers = 0
  for (let n = 0; n < streams; n++) {
    const stream = makeStream(random)
    const about = (): string => `seed ${seed}, stream ${n}, ${stream.kind}: ${Buffer.concat(stream.pieces).toString()}`
    try {
      const { usage, text, shown } = readBody(stream.kind, stream.pieces)
      answers++
      assert.ok(!stream.hasError, `an answer in spite of its error: ${about()}`)
      assert.equal(text, shown, about())
      if (usage && stream.keepsNumbers)
        assert.ok(usage.promptTokens + usage.completionTokens <= stream.most, `above what was reported: ${about()}`)
    } catch (failure) {
      if (!(failure instanceof ModelError)) throw new Error(about(), { cause: failure })
    }
  }
  t.diagnostic(`${Math.round((1000 * streams) / (performance.now() - startedAt))} streams per second, ${answers} answers`)
  // Otherwise the damage is too large to test anything.
  assert.ok(answers > streams / 10, `${answers} answers`)
})
