/** Server-sent events with any bytes in any pieces: compared with a reader of complete texts, and with the cases of the standard. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventReader } from '../src/event-reader.ts'
import type { ServerSentEvent } from '../src/event-reader.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function readPieces(pieces: Uint8Array[]): ServerSentEvent[] {
  const reader = new EventReader()
  return pieces.flatMap((piece) => reader.push(piece))
}

/** Line by line over the whole text, as in the standard. */
function readWhole(bytes: Uint8Array): ServerSentEvent[] {
  const events: ServerSentEvent[] = []
  let event = { name: '', data: '', id: '' }
  // Text after the last line end is not a line.
  for (const line of new TextDecoder()
    .decode(bytes)
    .split(/\r\n|\r|\n/)
    .slice(0, -1)) {
    const [, field = line, value = ''] = /^([^:]*): ?(.*)$/su.exec(line) ?? []
    if (line === '') {
      const { name, data, id } = event
      if (data !== '') events.push({ name: name || 'message', data: data.slice(0, -1), ...(id === '' ? {} : { id }) })
      event = { name: '', data: '', id: '' }
    } else if (field === 'event') event.name = value
    else if (field === 'id' && !value.includes('\0')) event.id = value
    else if (field === 'data') event.data += `${value}\n`
  }
  return events
}

/** Mostly parts of event streams, so that edge cases occur, and any other bytes. */
const parts = [
  'data',
  'event',
  'data:',
  'data: ',
  'event: a',
  ':',
  ' ',
  '\r',
  '\n',
  '\r\n',
  '\n\n',
  '\ufeff',
  'é',
  '😀',
  'id',
  'id: 7',
  '\0',
  'x\u2028',
]
const streams = fc
  .array(fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...parts).map(bytesOf) }, fc.uint8Array({ maxLength: 3 })), { maxLength: 40 })
  .map((pieces) => Uint8Array.from(pieces.flatMap((piece) => [...piece])))

test('any bytes in any pieces give the events of the complete text', () => {
  const cuts = fc.array(fc.nat(80), { maxLength: 30 })
  fc.assert(
    fc.property(streams, cuts, (bytes, places) => {
      const ends = [...places, bytes.length].toSorted((one, other) => one - other)
      const pieces = ends.map((end, index) => bytes.slice(index === 0 ? 0 : ends[index - 1], end))
      assert.deepEqual(readPieces(pieces), readWhole(bytes))
    }),
    { numRuns: 2_000 },
  )
})

test('one byte order mark at the start is dropped, also when it arrives in pieces, and a second one is not', () => {
  const bytes = bytesOf('\ufeff\ufeffdata: 1\n\ndata: 2\n\n')
  for (let cut = 0; cut <= bytes.length; cut++)
    assert.deepEqual(readPieces([bytes.slice(0, cut), bytes.slice(cut)]), [{ name: 'message', data: '2' }], `cut at ${cut}`)
})

test('an event is emitted with the byte that completes it, also if lines end with CR', () => {
  for (const end of ['\n', '\r', '\r\n']) {
    const reader = new EventReader()
    assert.deepEqual(reader.push(bytesOf(`event: a${end}data: 1${end}`)), [])
    assert.deepEqual(reader.push(bytesOf(end.slice(0, 1))), [{ name: 'a', data: '1' }], JSON.stringify(end))
    assert.deepEqual(reader.push(bytesOf(`${end.slice(1)}data: 2${end}${end}`)), [{ name: 'message', data: '2' }], JSON.stringify(end))
  }
})

test('comments, unknown fields, events without data and incomplete events are ignored; several data lines are one text', () => {
  const text = '\ufeff: awake\n\nretry: 1\nevent: b\ndata:one\ndata\ndata:  two\n\nevent: empty\n\ndata: cut'
  assert.deepEqual(readPieces([...bytesOf(text)].map((byte) => Uint8Array.of(byte))), [{ name: 'b', data: 'one\n\n two' }])
})

test('an event has its own id, and not that of the event before it; an empty id and one with a NUL are ignored', () => {
  const text = 'id: 7\ndata: 1\n\ndata: 2\n\nid: 8\n\ndata: 3\n\nid\ndata: 4\n\nid: a\0b\ndata: 5\n\n'
  assert.deepEqual(
    readPieces([bytesOf(text)]),
    ['1', '2', '3', '4', '5'].map((data) => ({ name: 'message', data, ...(data === '1' ? { id: '7' } : {}) })),
  )
})
