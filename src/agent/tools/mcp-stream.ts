/**
 * Reads the body of one response of an MCP server: one JSON text, or a stream of events. The first character decides which of the two it is,
 * because servers and gateways send either with any content type. Remembers the ID of the last whole event, from which a stream that ended
 * early can be continued.
 */
import { parseExact } from '../exact-json.ts'
import { ModelError } from '../models/model.ts'
import { SseReader } from '../models/transport/sse-reader.ts'
import { NoAnswer, OutcomeUnknown, unreachable } from './mcp-failure.ts'

// Finding out that an event is not JSON takes a while. Some servers start with an empty event or send one as a keep-alive.
const maxNoise = 8192
// The ID is sent back in a header. Those of known servers have up to 80 characters.
const eventId = /^[\x21-\x7e]([\x20-\x7e]{0,510}[\x21-\x7e])?$/
const blank = /^[\s\ufeff]*/

/** Where a stream of events ended. The same object is passed for all responses to one request. */
export class StreamPosition {
  /** Undefined if the stream cannot be continued: the server sent no ID, or one that no header can carry. */
  lastEventId: string | undefined
  /** How long the server asks to wait before the stream is continued. */
  retryMs: number | undefined
  #next: string | undefined

  /** Takes a line that is not data. An ID counts from the end of its event, so that an event that was cut off is sent again. */
  read(line: string): void {
    if (line === '') {
      if (this.#next !== undefined) this.lastEventId = eventId.test(this.#next) ? this.#next : undefined
      return
    }
    const [, name, value = ''] = /^(id|retry)(?:: ?(.*))?$/.exec(line) ?? []
    if (name === 'id' && !value.includes('\0')) this.#next = value
    if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value)
  }

  /** The rest of an event that was cut off belongs to nothing. */
  cutOff(): void {
    this.#next = undefined
  }
}

/**
 * Passes each message to `isAnswer` until it returns true. Returns whether it did: false means that a stream of events ended first. Throws
 * NoAnswer for anything else, and OutcomeUnknown if the connection broke or the response was too large.
 */
export async function readMessages(response: Response, isAnswer: (data: unknown) => boolean, position: StreamPosition): Promise<boolean> {
  const bytes = streamed(response)
  const head = await headOf(bytes)
  switch (head.first) {
    case '':
      // A stream that ended before its first event is continued if an earlier one had an ID.
      if (position.lastEventId !== undefined) return false
      throw new NoAnswer('the server ended its response without a result')
    case '{':
    case '[':
      return readJson(head.bytes, bytes, isAnswer)
    case '<':
      await bytes.return(undefined)
      throw new NoAnswer('the server returned neither JSON nor an event stream')
    default:
      return readEvents(head.bytes, bytes, isAnswer, position)
  }
}

type Bytes = AsyncGenerator<Buffer, void>

async function* streamed(response: Response): Bytes {
  try {
    for await (const bytes of response.body ?? []) yield Buffer.from(bytes)
  } catch (error) {
    throw unreachable(error)
  }
}

/** Reads up to the first character that is not blank. `first` is empty if all of it is blank. */
async function headOf(bytes: Bytes): Promise<{ first: string; bytes: Buffer }> {
  let head: Buffer = Buffer.alloc(0)
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
    const first = head.toString('utf8', 0, 4096).replace(blank, '').slice(0, 1)
    // A byte order mark may be split.
    if (first !== '' && first !== '\ufffd') return { first, bytes: head }
    if (head.length > 4096) return { first: first || ':', bytes: head }
  }
  return { first: '', bytes: head }
}

async function readJson(head: Buffer, rest: Bytes, isAnswer: (data: unknown) => boolean): Promise<boolean> {
  const pieces = [head]
  for await (const bytes of rest) pieces.push(bytes)
  const body = parsed(Buffer.concat(pieces).toString())
  if (body === undefined) throw new NoAnswer('the server returned invalid JSON')
  if (!isAnswer(body)) throw new NoAnswer('the server ended its response without a result')
  return true
}

/** Ignores whatever the server sends after the answer. */
async function readEvents(head: Buffer, rest: Bytes, isAnswer: (data: unknown) => boolean, position: StreamPosition): Promise<boolean> {
  let done = false
  let noise = 0
  const onEvent = (data: string): void => {
    if (done) return
    const message = parsed(data)
    // Events that are not JSON are not part of the protocol.
    if (message === undefined && ++noise > maxNoise)
      throw new OutcomeUnknown(`the server sent more than ${maxNoise} events that are not JSON`)
    done = isAnswer(message)
  }
  const events = new SseReader(onEvent, { onOther: (line) => position.read(line) })
  position.cutOff()
  try {
    events.push(head)
    if (done) return true
    for await (const bytes of rest) {
      events.push(bytes)
      if (done) return true
    }
    return false
  } catch (error) {
    if (error instanceof ModelError) throw new OutcomeUnknown('the server sent an event that is too large', { cause: error })
    throw error
  } finally {
    await rest.return(undefined)
  }
}

/** Returns undefined if the text is not valid JSON. */
export function parsed(text: string): unknown {
  try {
    return parseExact(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}
