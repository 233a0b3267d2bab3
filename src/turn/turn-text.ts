/**
 * The text of one attempt of a turn, and everyone who listens to it. A listener may join at any time, at the position where an earlier
 * connection ended: it gets what follows, nothing twice and nothing left out (`stream.resume`). Positions do not depend on a process or an
 * attempt, because they contain a checksum of the text before them. Many listeners get the text in rounds, several deltas in one
 * (`overload.follows`). Knows no HTTP and no store.
 */
import { crc32 } from 'node:zlib'

/** A place in a text. */
export type TextPosition = {
  /** In UTF-16 code units. */
  offset: number
  /** CRC-32 of the text before it, in UTF-8. */
  checksum: number
}

export const textStart: TextPosition = { offset: 0, checksum: 0 }

const advance = ({ offset, checksum }: TextPosition, text: string): TextPosition => ({
  offset: offset + text.length,
  checksum: crc32(text, checksum),
})

// Half a millisecond of writes. With more listeners, other requests run between two parts of a round.
const servedAtOnce = 25
// Of one listener in a round. A write takes about 0.02 ms, so all listeners of a text take a tenth of the time of the process.
const perListenerMs = 0.2

export type TextListener = {
  /** `position` is the place after `text`. */
  onText(text: string, position: TextPosition): void
  /** The text is a different one from here on: discard what was received. `onText` with the new text follows. */
  onReset(): void
}

/** How far a listener is. Not `verified`: its position has not been compared yet, because the text is still shorter. */
type Reader = { position: TextPosition; verified: boolean }

export class TurnText {
  #text = ''
  /** The end of the part of the text whose checksum is known. Computed only if someone listens. */
  #known: TextPosition = textStart
  readonly #readers = new Map<TextListener, Reader>()
  #isServing = false

  get text(): string {
    return this.#text
  }

  /** Costs as much as the delta is long: reading the whole text would copy it each time, because it is a rope of its deltas. */
  append(delta: string): void {
    const end = this.#text.length
    this.#text += delta
    if (this.#readers.size === 0 || delta === '') return
    if (this.#readers.size > servedAtOnce) return this.#serveInRounds()
    if (this.#known.offset === end) this.#known = advance(this.#known, delta)
    for (const [listener, reader] of this.#readers) {
      if (reader.verified && reader.position.offset === end) this.#say(listener, reader, delta)
      else this.#pass(listener, reader)
    }
  }

  /**
   * Passes on the text after `after` synchronously, and all later text. If the text before `after` is a different one, resets the listener
   * and starts from the beginning. Returns a function that ends the subscription.
   */
  listen(listener: TextListener, after: TextPosition = textStart): () => void {
    const reader: Reader = { position: after, verified: after.offset === 0 }
    this.#readers.set(listener, reader)
    this.#pass(listener, reader)
    return () => void this.#readers.delete(listener)
  }

  /** `overload.follows`: each listener once in a round, a few at a time. */
  #serveInRounds(): void {
    if (this.#isServing) return
    this.#isServing = true
    const startedAt = performance.now()
    const round = this.#readers.entries()
    const serveSome = (): void => {
      for (let left = servedAtOnce; left > 0;) {
        const { done, value } = round.next()
        if (done) return void setTimeout(rested, Math.max(0, this.#readers.size * perListenerMs - (performance.now() - startedAt))).unref()
        if (!this.#isBehind(value[1])) continue
        this.#pass(...value)
        left--
      }
      setImmediate(serveSome)
    }
    const rested = (): void => {
      this.#isServing = false
      if (this.#readers.values().some((reader) => this.#isBehind(reader))) this.#serveInRounds()
    }
    serveSome()
  }

  #isBehind({ position: { offset }, verified }: Reader): boolean {
    return offset < this.#text.length || (offset === this.#text.length && !verified)
  }

  /** All listeners have all of the text so far. */
  catchUp(): void {
    for (const [listener, reader] of this.#readers) if (this.#isBehind(reader)) this.#pass(listener, reader)
  }

  /** Another attempt generates the text from its beginning. Listeners keep their positions, and get no text that they have already. */
  startOver(): void {
    this.#text = ''
    this.#known = textStart
    for (const reader of this.#readers.values()) reader.verified = reader.position.offset === 0
  }

  /** The turn has ended with this text. Also serves listeners that wait because an earlier attempt had more text than this one. */
  complete(text: string): void {
    if (this.#readers.size === 0 || !text.startsWith(this.#text)) this.startOver()
    this.append(text.slice(this.#text.length))
    for (const [listener, reader] of this.#readers) {
      this.#pass(listener, reader)
      if (!reader.verified) this.#restart(listener, reader)
    }
  }

  #pass(listener: TextListener, reader: Reader): void {
    const { offset } = reader.position
    if (!reader.verified) {
      if (this.#text.length < offset) return
      if (crc32(this.#text.slice(0, offset)) !== reader.position.checksum) return this.#restart(listener, reader)
      reader.verified = true
    }
    if (this.#text.length > offset) this.#say(listener, reader, this.#text.slice(offset))
  }

  /** `text` is all that follows the reader's position. */
  #say(listener: TextListener, reader: Reader, text: string): void {
    reader.position = this.#end()
    listener.onText(text, reader.position)
  }

  #restart(listener: TextListener, reader: Reader): void {
    reader.position = textStart
    reader.verified = true
    listener.onReset()
    this.#pass(listener, reader)
  }

  /** The position at the end of the text. */
  #end(): TextPosition {
    if (this.#known.offset < this.#text.length) this.#known = advance(this.#known, this.#text.slice(this.#known.offset))
    return this.#known
  }
}
