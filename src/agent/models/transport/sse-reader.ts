/**
 * Reads server-sent events out of bytes that may be cut anywhere: inside a character, inside a CRLF, one byte at a time. Owns the framing
 * alone: it hands over the data of each event and knows nothing of JSON, of `[DONE]` or of sockets. Event names, ids and comments are dropped.
 */
import { ModelError } from '../model.ts'

/** 1 MiB for a line, and for all data lines of one event: 400 times what a chunk of any provider holds, and small enough to lose. */
export const maxEventBytes = 1024 * 1024

// A first line that is cut once rarely needs more; it doubles up to the cap.
const firstHeldBytes = 4096

const nothing = Buffer.alloc(0)
const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const byteOrderMark = 0xfeff

export class SseReader {
  readonly #onData: (data: string) => void
  readonly #maxBytes: number
  /** The beginning of a line whose end has not come yet. */
  #held: Buffer = nothing
  #heldBytes = 0
  #endedByCr = false
  #firstLine = true
  /** Data lines of the event that is being read, joined; undefined while it has none. */
  #data: string | undefined
  /** Of an event that has several data lines; one is within the cap of a line. */
  #dataBytes = 0

  /** `onData` is called synchronously within `push`, once for each event that has data; what it throws comes out of `push`. */
  constructor(onData: (data: string) => void, maxBytes = maxEventBytes) {
    this.#onData = onData
    this.#maxBytes = maxBytes
  }

  /** Throws ModelError `unavailable` for a line or an event over the cap. An event whose blank line never comes is never handed over. */
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
    // more than one line may be, which the network never hands over at once: line by line, each measured
    while (bytes.length - start > this.#maxBytes) {
      const end = firstLineEnd(bytes, start)
      if (end === -1 || end - start > this.#maxBytes) throw tooLarge()
      this.#readLines(bytes.toString('utf8', start, end + 1))
      start = end + 1
    }
    const end = Math.max(bytes.lastIndexOf(lineFeed), bytes.lastIndexOf(carriageReturn)) + 1
    // no byte of another character looks like a line end, so lines can be decoded together: one by one it takes twice the time
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
    if (start === end) return this.#endEvent()
    if (!text.startsWith('data', start)) return
    let value = start + 'data'.length
    if (value < end) {
      if (text.charCodeAt(value) !== colon) return
      value += text.charCodeAt(value + 1) === space ? 2 : 1
    }
    this.#add(text.slice(value, end))
  }

  #add(line: string): void {
    if (this.#data === undefined) {
      this.#data = line
      return
    }
    if (this.#dataBytes === 0) this.#dataBytes = Buffer.byteLength(this.#data)
    // a copy: a slice would keep all that was read with it, which the cap does not count
    const bytes = Buffer.from(line)
    this.#dataBytes += bytes.length + 1
    if (this.#dataBytes > this.#maxBytes) throw tooLarge()
    this.#data += `\n${bytes.toString()}`
  }

  #endEvent(): void {
    const event = this.#data
    if (event === undefined) return
    this.#data = undefined
    this.#dataBytes = 0
    this.#onData(event)
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

/** Searched natively: a third of the time of a loop over the bytes. -1: there is none. */
function firstLineEnd(bytes: Buffer, from: number): number {
  const lf = bytes.indexOf(lineFeed, from)
  const cr = bytes.indexOf(carriageReturn, from)
  return lf === -1 || (cr !== -1 && cr < lf) ? cr : lf
}

const tooLarge = (): ModelError => new ModelError('unavailable', 'the model stream contains a line or an event that is too large')
