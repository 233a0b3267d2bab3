/**
 * The console's reader of server-sent events: events are read as they were sent, however the bytes are split and whichever line endings
 * they have.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readEvents } from '../../packages/console/src/api/event-reader.ts'
import type { ServerSentEvent } from '../../packages/console/src/api/event-reader.ts'
import { event } from '../../src/http/public/event-stream.ts'
import { anyText } from '../support/any-text.ts'

const read = (chunks: Iterable<Uint8Array>): Promise<ServerSentEvent[]> => Array.fromAsync(readEvents(inTurn(chunks)))

async function* inTurn(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks
}

function cut(text: string, places: number[]): Uint8Array[] {
  const bytes = new TextEncoder().encode(text)
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end))
}

const line = anyText(30).map((text) => text.toWellFormed().replace(/[\r\n]/g, ''))
const sent = fc.record({ name: fc.constantFrom('response.created', 'error'), data: fc.array(line, { minLength: 1, maxLength: 4 }) })
const places = fc.array(fc.nat(), { maxLength: 40 })

void test('console: events are read whole with any chunking, with CR, LF and CRLF, data of several lines and comments between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sent, { maxLength: 6 }), fc.constantFrom('\n', '\r\n', '\r'), places, async (events, end, at) => {
      const written = events.map(({ name, data }) =>
        [':', `event: ${name}`, ...data.map((text) => `data: ${text}`), 'id: 7', '', ': beat', ''].join(end),
      )
      assert.deepEqual(
        await read(cut(written.map((text) => text + end).join(''), at)),
        events.map(({ name, data }) => ({ name, data: data.join('\n') })),
      )
    }),
    { numRuns: 500 },
  )
})

void test('console: what the server writes is read back, byte by byte', async () => {
  const data = JSON.stringify({ delta: 'Grüße 💶\r\n\u2028' })
  const text = `:\n\n${event('response.output_text.delta', data)}${event('error', '{}')}`
  assert.deepEqual(await read(Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte))), [
    { name: 'response.output_text.delta', data },
    { name: 'error', data: '{}' },
  ])
})

void test('console: an event that is cut off by the end is ignored', async () => {
  const whole = event('response.created', '{}')
  assert.deepEqual(await read(cut(whole.slice(0, -1), [])), [])
  assert.equal((await read(cut(whole, []))).length, 1)
})
