/**
 * Reads the body of a 200 as what it is: server-sent events, one JSON value, or a JSON value in each line. Servers and proxies label all of
 * them with any content type or none, so the first character decides. It knows no dialect.
 */
import { bodyLimit, eventLimit, tooLong } from '../answer-limit.ts'
import { ModelError } from '../model.ts'
import { parseExact } from '../../exact-json.ts'
import { CollectedBytes } from './collected-bytes.ts'
import type { AnswerReader, Progress } from './exchange.ts'
import { SseReader } from './sse-reader.ts'

/** What reads the content of a body, in one dialect. Any error it throws ends the call. */
export interface Dialect {
  /** Changed by `data` and `whole`. */
  readonly progress: Progress
  /** Reads the data of an event. `name` is that of the event, or empty. */
  data(data: string, name: string): void
  /** Reads an answer that is not streamed. */
  whole(value: unknown): void
  /** The body has ended. Throws if the answer is incomplete. */
  end(): void
}

export class AnswerBody implements AnswerReader {
  readonly #dialect: Dialect
  readonly #maxOutputTokens: number
  readonly #events: SseReader
  #form: 'unknown' | 'events' | 'json' = 'unknown'
  #whole: CollectedBytes | undefined
  #mediaType = ''
  #hasEvents = false

  constructor(dialect: Dialect, maxOutputTokens: number) {
    this.#dialect = dialect
    this.#maxOutputTokens = maxOutputTokens
    this.#events = new SseReader((data, name) => this.#readEvent(data, name), { maxEvents: eventLimit(maxOutputTokens) })
  }

  begin(mediaType: string): void {
    this.#mediaType = mediaType
  }

  take(bytes: Buffer): Progress {
    if (this.#form === 'unknown') this.#decide(bytes)
    if (this.#form === 'events') {
      this.#events.push(bytes)
      return this.#dialect.progress
    }
    this.#collect(bytes)
    return this.#form === 'json' ? 'speaking' : 'waiting'
  }

  end(): void {
    if (this.#form === 'json') this.#readWhole(this.#whole!.text())
    // What an event without a final empty line contains is complete, or invalid JSON.
    else if (this.#form === 'events') this.#events.push(Buffer.from('\n\n'))
    if (this.#form === 'events' && !this.#hasEvents && this.#mediaType !== 'text/event-stream') throw this.#notAnAnswer()
    this.#dialect.end()
  }

  #readEvent(data: string, name: string): void {
    this.#hasEvents = true
    if (this.#dialect.progress === 'done' || data === '') return
    this.#dialect.data(data, name)
  }

  /** White space and a byte order mark may come first. */
  #decide(bytes: Buffer): void {
    const at = bytes.findIndex((byte) => !blank.has(byte))
    if (at < 0) return
    const first = String.fromCharCode(bytes[at]!)
    if (first === '<') throw this.#notAnAnswer()
    this.#form = first === '{' || first === '[' ? 'json' : 'events'
    if (this.#form === 'events' && this.#whole) this.#events.push(Buffer.from(this.#whole.text()))
  }

  #collect(bytes: Buffer): void {
    this.#whole ??= new CollectedBytes()
    const limit = bodyLimit(this.#maxOutputTokens)
    if (this.#whole.length + bytes.length > limit) throw tooLong(limit)
    this.#whole.push(bytes)
  }

  #readWhole(body: string): void {
    const values = parseAll(body.replace(/^\uFEFF/, ''))
    if (!values) throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid response: broken JSON')
    if (values.length === 1 && !Array.isArray(values[0])) return this.#dialect.whole(values[0])
    for (const value of values.flat()) this.#readEvent(JSON.stringify(value), '')
  }

  #notAnAnswer(): ModelError {
    return new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid response', {
      said: `content type ${this.#mediaType.slice(0, 100) || 'missing'}`,
    })
  }
}

const blank = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/** Returns one value, or those of the lines; undefined if neither is JSON. */
function parseAll(body: string): unknown[] | undefined {
  try {
    return [parseExact(body)]
  } catch {
    try {
      const lines = body.split('\n').filter((line) => line.trim() !== '')
      return lines.length > 1 ? lines.map((line) => parseExact(line)) : undefined
    } catch {
      return undefined
    }
  }
}
