/**
 * Splits a service's response into the bytes before a moment and after it. Knows that a stream's events end with an empty line, and nothing
 * else about them.
 */
import type { Moment } from './scenario-file.ts'

export type Piece = { bytes: Buffer; isDelta?: boolean } | 'moment'

const deltaEvent = Buffer.from('event: response.output_text.delta\n')
const eventEnd = Buffer.from('\n\n')

/**
 * The pieces of a response in order, with `moment` at its place, after which nothing follows; without one if the response ends before it.
 */
export async function* piecesUntil(moment: Moment | undefined, body: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  if (typeof moment === 'string') {
    // All of it was sent, and nothing of it is forwarded; what comes before a response is handled elsewhere.
    for await (const _ of body);
    yield 'moment'
    return
  }
  let deltas = 0
  let bytes = 0
  for await (const event of eventsOf(body)) {
    const isDelta = event.includes(deltaEvent)
    if (isDelta) deltas += 1
    if (moment === undefined) {
      yield { bytes: event, isDelta }
      continue
    }
    if ('after_bytes' in moment) {
      if (bytes + event.length >= moment.after_bytes) return yield* splitAt(event, moment.after_bytes - bytes)
      bytes += event.length
    }
    if ('inside_delta' in moment && deltas === moment.inside_delta) return yield* splitAt(event, event.length - 5)
    if ('inside_character_of_delta' in moment && deltas === moment.inside_character_of_delta)
      return yield* splitAt(event, insideCharacter(event))
    yield { bytes: event, isDelta }
    if ('after_deltas' in moment && deltas === moment.after_deltas) return yield 'moment'
  }
}

function* splitAt(event: Buffer, at: number): Generator<Piece> {
  yield { bytes: event.subarray(0, at) }
  yield 'moment'
}

/** After the first byte of the first multi-byte character. */
function insideCharacter(event: Buffer): number {
  const first = event.findIndex((byte) => byte >= 0xc0)
  if (first === -1) throw new Error(`this delta has no character of several bytes: ${event.toString()}`)
  return first + 1
}

/** Whole events; the rest after the last of them as it is. */
async function* eventsOf(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const bytes of body) {
    rest = Buffer.concat([rest, bytes])
    for (let end = rest.indexOf(eventEnd); end !== -1; end = rest.indexOf(eventEnd)) {
      yield rest.subarray(0, end + eventEnd.length)
      rest = rest.subarray(end + eventEnd.length)
    }
  }
  if (rest.length > 0) yield rest
}
