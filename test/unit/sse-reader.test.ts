/** The reader of server-sent events with its bytes split anywhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { ModelError } from '../../src/agent/models/model.ts'
import { SseReader, maxEventBytes } from '../../src/agent/models/transport/sse-reader.ts'

function read(chunks: Buffer[], maxBytes?: number): string[] {
  const events: string[] = []
  const reader = new SseReader((data) => void events.push(data), maxBytes === undefined ? {} : { maxBytes })
  for (const chunk of chunks) reader.push(chunk)
  return events
}

/** Splits bytes at the given places, which may repeat: empty chunks happen too. */
function cutAt(bytes: Buffer, places: number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end))
}

const lineText = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ' ').toWellFormed())
const anEvent = fc.record({
  before: fc.array(fc.constantFrom(': a comment', ':', 'event: ping', 'id: 7', 'retry: 5', 'dat: x', 'datax: y', 'nonsense'), {
    maxLength: 2,
  }),
  data: fc.array(fc.record({ text: lineText, head: fc.constantFrom('data: ', 'data:') }), { maxLength: 3 }),
})
const ending = fc.constantFrom('\n', '\r', '\r\n')
const cuts = fc.array(fc.nat(), { maxLength: 30 })

test('event reader: any events with any line endings and any split of the bytes are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(anEvent, { maxLength: 6 }), fc.infiniteStream(ending), fc.boolean(), cuts, (events, endings, bom, places) => {
      const lines = events.flatMap(({ before, data }) => [...before, ...data.map(({ head, text }) => head + text), ''])
      // a CR and the LF of the next, empty, line would be one ending
      const text = lines
        .map((line) => line + endings.next().value!)
        .reduce((all, line) => (all.endsWith('\r') && line === '\n' ? `${all}\r` : all + line), '')
      const expected = events
        .filter(({ data }) => data.length > 0)
        .map(({ data }) => data.map(({ head, text }) => (head === 'data:' && text.startsWith(' ') ? text.slice(1) : text)).join('\n'))
      const bytes = Buffer.from((bom ? '\uFEFF' : '') + text)
      assert.deepEqual(read(cutAt(bytes, places)), expected)
      assert.deepEqual(read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))), expected)
    }),
  )
})

test('event reader: invalid input never crashes it, and is read the same with any split', () => {
  const alphabet = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom('data:', '\r', '\n', '\n\n', ':', ' ', '\0', '\uFEFF').map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 20 }), cuts, (pieces, places) => {
      const bytes = Buffer.concat(pieces)
      assert.deepEqual(read(cutAt(bytes, places)), read([bytes]))
    }),
  )
})

test('event reader: the limits hold for any split of the bytes: a line or an event at the limit is read, one byte more is unavailable', () => {
  const outcome = (chunks: Buffer[]): string[] | string => {
    try {
      return read(chunks, 64)
    } catch (error) {
      assert(error instanceof ModelError)
      return error.kind
    }
  }
  const line = (length: number): string => `data: ${'é'.repeat((length - 6) / 2)}\n\n`
  const lines = (lengths: number[]): string => `${lengths.map((length) => `data:${'x'.repeat(length)}\n`).join('')}\n`
  fc.assert(
    fc.property(cuts, (places) => {
      const at = (text: string): string[] | string => outcome(cutAt(Buffer.from(text), places))
      assert.deepEqual(at(line(64)), ['é'.repeat(29)])
      assert.equal(at(line(66)), 'unavailable')
      assert.equal(at(`:${'x'.repeat(64)}\n\n`), 'unavailable')
      assert.equal((at(lines([31, 32]))[0] ?? '').length, 64)
      assert.equal(at(lines([32, 32])), 'unavailable')
      assert.equal(at(lines([20, 20]) + lines([20, 20])).length, 2)
    }),
  )
})

test('event reader: a line of 10 MB ends the call at 1 MiB', () => {
  const megabyte = Buffer.alloc(maxEventBytes, 'x')
  const reader = new SseReader(() => assert.fail('no event'))
  reader.push(megabyte)
  assert.throws(() => reader.push(megabyte.subarray(0, 1)), ModelError)
})

test('event reader: a line that arrives in many pieces is read whole', () => {
  const line = Array.from({ length: 20_000 }, (_, n) => n % 10).join('')
  const bytes = Buffer.from(`data: ${line}\n\n`)
  const pieces = Array.from({ length: 41 }, (_, n) => bytes.subarray(n * 500, (n + 1) * 500))
  assert.deepEqual(read(pieces), [line])
})

test('event reader: an event whose blank line never comes is not dispatched', () => {
  assert.deepEqual(read([Buffer.from('data: whole\n\ndata: half\n')]), ['whole'])
})

test('event reader: the lines of an event do not retain the rest of the input', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = (): number => (collect(), process.memoryUsage().heapUsed)
  const events: string[] = []
  const reader = new SseReader((data) => void events.push(data))
  const before = heap()
  for (let n = 0; n < 500; n++) reader.push(Buffer.from(`data: a line that is not short\n:${'.'.repeat(60_000)}\n`))
  const grown = heap() - before
  reader.push(Buffer.from('\n'))
  assert.equal(events[0]?.length, 500 * 'a line that is not short\n'.length - 1)
  assert(grown < 10_000_000, `${grown} bytes are kept of 30,000,000 that were read`)
})
