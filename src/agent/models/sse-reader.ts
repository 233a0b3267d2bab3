/**
 * Reads server-sent events out of bytes that may be cut anywhere: inside a character, inside a CRLF, one byte at a time. Owns the framing
 * alone: it hands over the data of each event and knows nothing of JSON, of `[DONE]` or of sockets. Event names, ids and comments are dropped.
 */
import { ModelError } from '../model.ts'

/** 1 MiB for a line, and for all data lines of one event: 400 times what a chunk of any provider holds, and small enough to lose. */
export const largestEventBytes = 1024 * 1024

// A first line that is cut once rarely needs more; it doubles up to the cap.
const firstHeldBytes = 4096

const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const data = Buffer.from('data')
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

export class SseReader {
  readonly #onData: (data: string) => void
  readonly #largestBytes: number
  /** The beginning of a line whose end has not come yet. */
  #held: Buffer = Buffer.alloc(0)
  #heldBytes = 0
  #endedByCr = false
  #firstLine = true
  /** Data lines of the event that is being read, joined; undefined while it has none. */
  #data: string | undefined
  #dataBytes = 0

  /** `onData` is called synchronously within `push`, once for each event that has data; what it throws comes out of `push`. */
  constructor(onData: (data: string) => void, largestBytes = largestEventBytes) {
    this.#onData = onData
    this.#largestBytes = largestBytes
  }

  /** Throws ModelError `unavailable` for a line or an event over the cap. An event whose blank line never comes is never handed over. */
  push(bytes: Buffer): void {
    let start = 0
    // searched natively, each character from where it was last found: a third of the time of a loop over the bytes
    let lf = bytes.indexOf(lineFeed)
    let cr = bytes.indexOf(carriageReturn)
    while (lf !== -1 || cr !== -1) {
      const isCr = cr !== -1 && (lf === -1 || cr < lf)
      const end = isCr ? cr : lf
      const secondHalf = !isCr && this.#endedByCr && end === start && this.#heldBytes === 0
      this.#endedByCr = isCr
      if (!secondHalf) this.#endLine(bytes, start, end)
      start = end + 1
      if (isCr) cr = bytes.indexOf(carriageReturn, start)
      else lf = bytes.indexOf(lineFeed, start)
    }
    if (start < bytes.length) this.#hold(bytes, start, bytes.length)
  }

  #endLine(bytes: Buffer, start: number, end: number): void {
    if (this.#heldBytes > 0) {
      this.#hold(bytes, start, end)
      const held = this.#heldBytes
      this.#heldBytes = 0
      this.#readLine(this.#held, 0, held)
    } else {
      if (end - start > this.#largestBytes) throw tooLarge()
      this.#readLine(bytes, start, end)
    }
  }

  #readLine(line: Buffer, from: number, end: number): void {
    let start = from
    if (this.#firstLine) {
      this.#firstLine = false
      if (begins(line, start, end, byteOrderMark)) start += byteOrderMark.length
    }
    if (start === end) return this.#endEvent()
    if (!begins(line, start, end, data)) return
    let value = start + data.length
    if (value < end) {
      if (line[value] !== colon) return
      value += line[value + 1] === space && value + 1 < end ? 2 : 1
    }
    this.#dataBytes += end - value + 1
    if (this.#dataBytes > this.#largestBytes + 1) throw tooLarge()
    const text = line.toString('utf8', value, end)
    this.#data = this.#data === undefined ? text : `${this.#data}\n${text}`
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
    if (needed > this.#largestBytes) throw tooLarge()
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#held.length * 2, firstHeldBytes))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldBytes, start, end)
    this.#heldBytes = needed
  }
}

function begins(line: Buffer, start: number, end: number, head: Buffer): boolean {
  if (end - start < head.length) return false
  for (let i = 0; i < head.length; i++) if (line[start + i] !== head[i]) return false
  return true
}

const tooLarge = (): ModelError => new ModelError('unavailable', "the model's stream holds a line or an event that is too large")
