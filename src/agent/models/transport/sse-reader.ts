/**
 * Reads server-sent events from bytes that may be split anywhere: inside a character, inside a CRLF, or one byte at a time. It only handles
 * the framing, and knows nothing about JSON, `[DONE]` or sockets. Ids and comments are ignored, unless `onOther` asks for them.
 */
import { tooManyEvents } from '../answer-limit.ts'
import { ModelError } from '../model.ts'

/**
 * 1 MiB, for a line and for all data lines of one event together: 400 times the size of any provider's chunk, and harmless to hold in
 * memory.
 */
export const maxEventBytes = 1024 * 1024

// Initial buffer for an incomplete line, rarely too small. It doubles up to the limit.
const firstHeldBytes = 4096

// Names of events have a few dozen characters.
const maxName = 100

const nothing = Buffer.alloc(0)
const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const byteOrderMark = 0xfeff

/**
 * `maxBytes`: for a line and for an event. `maxEvents`: for the whole stream, events without data not counted. `onOther` gets each line that
 * is not data, and the empty line at the end of an event before the data of the event is passed on.
 */
export type SseOptions = { maxBytes?: number; maxEvents?: number; onOther?: (line: string) => void }

export class SseReader {
  readonly #onData: (data: string, name: string) => void
  readonly #maxBytes: number
  readonly #maxEvents: number
  readonly #onOther: ((line: string) => void) | undefined
  #events = 0
  /** The start of a line whose end has not arrived yet. */
  #held: Buffer = nothing
  #heldBytes = 0
  #endedByCr = false
  #firstLine = true
  #name = ''
  /** The joined data lines of the current event; undefined if it has none so far. */
  #data: string | undefined
  /** Size of an event with several data lines; 0 for a single one, which the limit for lines covers. */
  #dataBytes = 0

  /** `onData` is called synchronously in `push` for each event that has data. `name` is empty for an event without one. `push` throws whatever `onData` throws. */
  constructor(onData: (data: string, name: string) => void, { maxBytes = maxEventBytes, maxEvents = Infinity, onOther }: SseOptions = {}) {
    this.#onData = onData
    this.#maxBytes = maxBytes
    this.#maxEvents = maxEvents
    this.#onOther = onOther
  }

  /** Throws ModelError `unavailable` for a line or an event over the limit, or for too many events. An event that does not end with an empty line is dropped. */
  push(bytes: Buffer): void {
    let start = 0
    if (this.#heldBytes > 0) {
      const end = firstLineEnd(bytes, 0)
      if (end === -1) return this.#hold(bytes, 0, bytes.length)
      this.#hold(bytes, 0, end)
      const line = this.#held.toString('utf8', 0, this.#heldBytes)
      this.#heldBytes = 0
      this.#endedByCr = bytes[end] === carriageReturn
      this.#readLine(line, 0, line.length)
      start = end + 1
    }
    // More bytes than the limit for a line, which no network read returns: measure each line separately.
    while (bytes.length - start > this.#maxBytes) {
      const end = firstLineEnd(bytes, start)
      if (end === -1 || end - start > this.#maxBytes) throw tooLarge()
      this.#readLines(bytes.toString('utf8', start, end + 1))
      start = end + 1
    }
    const end = Math.max(bytes.lastIndexOf(lineFeed), bytes.lastIndexOf(carriageReturn)) + 1
    // In UTF-8 no part of another character equals a line end, so all complete lines can be decoded together. Decoding each one takes twice
    // the time.
    if (end > start) this.#readLines(bytes.toString('utf8', start, end))
    if (bytes.length > Math.max(start, end)) this.#hold(bytes, Math.max(start, end), bytes.length)
  }

  #readLines(text: string): void {
    let start = 0
    let lf = text.indexOf('\n')
    let cr = text.indexOf('\r')
    while (lf !== -1 || cr !== -1) {
      const isCr = cr !== -1 && (lf === -1 || cr < lf)
      const end = isCr ? cr : lf
      const secondHalf = !isCr && this.#endedByCr && end === start
      this.#endedByCr = isCr
      if (!secondHalf) this.#readLine(text, start, end)
      start = end + 1
      if (isCr) cr = text.indexOf('\r', start)
      else lf = text.indexOf('\n', start)
    }
  }

  #readLine(text: string, from: number, end: number): void {
    let start = from
    if (this.#firstLine) {
      this.#firstLine = false
      if (start < end && text.charCodeAt(start) === byteOrderMark) start++
    }
    if (start === end) {
      this.#onOther?.('')
      return this.#endEvent()
    }
    if (!text.startsWith('data', start)) {
      this.#onOther?.(text.slice(start, end))
      return this.#readName(text, start, end)
    }
    let value = start + 'data'.length
    if (value < end) {
      if (text.charCodeAt(value) !== colon) return
      value += text.charCodeAt(value + 1) === space ? 2 : 1
    }
    this.#add(text.slice(value, end))
  }

  #readName(text: string, start: number, end: number): void {
    if (!text.startsWith('event:', start)) return
    this.#name = text.slice(start + 'event:'.length, Math.min(end, start + maxName)).trim()
  }

  #add(line: string): void {
    if (this.#data === undefined) {
      this.#data = line
      return
    }
    if (this.#dataBytes === 0) this.#dataBytes = Buffer.byteLength(this.#data)
    // Copied, because a slice would keep the whole string it was cut from in memory, which the limit does not count.
    const bytes = Buffer.from(line)
    this.#dataBytes += bytes.length + 1
    if (this.#dataBytes > this.#maxBytes) throw tooLarge()
    this.#data += `\n${bytes.toString()}`
  }

  #endEvent(): void {
    const event = this.#data
    const name = this.#name
    this.#name = ''
    if (event === undefined) return
    this.#data = undefined
    this.#dataBytes = 0
    if (++this.#events > this.#maxEvents) throw tooManyEvents(this.#maxEvents)
    this.#onData(event, name)
  }

  #hold(bytes: Buffer, start: number, end: number): void {
    const needed = this.#heldBytes + end - start
    if (needed > this.#maxBytes) throw tooLarge()
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#held.length * 2, firstHeldBytes))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldBytes, start, end)
    this.#heldBytes = needed
  }
}

/** Returns the index of the first line end, or -1. `indexOf` takes a third of the time of a loop over the bytes. */
function firstLineEnd(bytes: Buffer, from: number): number {
  const lf = bytes.indexOf(lineFeed, from)
  const cr = bytes.indexOf(carriageReturn, from)
  return lf === -1 || (cr !== -1 && cr < lf) ? cr : lf
}

const tooLarge = (): ModelError =>
  new ModelError('unavailable', 'answer_too_large', 'the model stream contains a line or an event that is too large')
