/**
 * The `fetch` that a provider package uses. Its POST goes through `exchange`, so that connections, deadlines, statuses and aborts work the
 * same for every provider. The package only sees the events of a 200, rewritten and within the size limits. It does not retry.
 */
import type { Dispatcher } from 'undici'
import { ModelError } from '../model.ts'
import { exchange } from './exchange.ts'
import type { AnswerReader, Deadlines, Progress } from './exchange.ts'
import { SseReader } from './sse-reader.ts'

export type StreamOptions = {
  dispatcher: Dispatcher
  /** Query parameters of this URL are added to every request. */
  baseUrl: URL
  secret: string
  deadlines: Deadlines
  signal: AbortSignal
  /** `trace.context`: sent as it is. */
  traceparent?: string | null | undefined
  /** Whether this is the data of the last event of a stream. Anything after it is ignored. */
  isLast: (data: string) => boolean
  /** The most events that an answer can have. */
  maxEvents: number
}

export type FetchStream = {
  fetch: typeof globalThis.fetch
  /** Reports that the model has started to generate, reason or call a tool: from now on the idle deadline applies. */
  speaking(): void
  /** Returns what the exchange rejected with, as `cause`; undefined if it has not failed. */
  failure(): { cause: unknown } | undefined
}

export function openFetchStream(options: StreamOptions): FetchStream {
  const { dispatcher, baseUrl, secret, deadlines, signal, traceparent } = options
  let events: Events | undefined
  let failure: { cause: unknown } | undefined

  return {
    fetch(target, init) {
      const url = new URL(target instanceof Request ? target.url : target)
      for (const [name, value] of baseUrl.searchParams) url.searchParams.append(name, value)
      const headers = {
        ...Object.fromEntries(new Headers(init?.headers)),
        accept: 'text/event-stream',
        // Without this header a proxy may compress the stream, which delays pieces of it.
        'accept-encoding': 'identity',
        'user-agent': 'turnkeep',
        ...(traceparent ? { traceparent } : {}),
      }
      const answer = new Events(options)
      events = answer
      const call = { origin: url.origin, path: url.pathname + url.search, headers, body: String(init?.body), secret, deadlines, signal }
      exchange(dispatcher, call, answer).catch((cause: unknown) => {
        failure = { cause }
        answer.fail(cause)
      })
      return answer.response
    },
    speaking: () => events?.speaking(),
    failure: () => failure,
  }
}

/** Passes the events of an answer on as the body of a web response. */
class Events implements AnswerReader {
  readonly #isLast: (data: string) => boolean
  readonly #reader: SseReader
  readonly #response = Promise.withResolvers<Response>()
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  #advance: (progress: Progress) => void = () => undefined
  #progress: Progress = 'waiting'
  /** Events that `take` has read and not passed on yet. */
  #framed = ''

  constructor({ isLast, maxEvents }: Pick<StreamOptions, 'isLast' | 'maxEvents'>) {
    this.#isLast = isLast
    this.#reader = new SseReader((data) => this.#read(data), { maxEvents })
  }

  get response(): Promise<Response> {
    return this.#response.promise
  }

  begin(mediaType: string, advance: (progress: Progress) => void): void {
    if (mediaType !== 'text/event-stream')
      throw new ModelError('unavailable', 'invalid_answer', 'the model server sent an invalid response', {
        said: `content type ${mediaType.slice(0, 100) || 'missing'}`,
      })
    this.#advance = advance
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (this.#body = controller) })
    this.#response.resolve(new Response(body, { headers: { 'content-type': mediaType } }))
  }

  take(bytes: Buffer): Progress {
    this.#reader.push(bytes)
    if (this.#framed !== '') {
      this.#body?.enqueue(Buffer.from(this.#framed))
      this.#framed = ''
    }
    if (this.#progress === 'done') this.#body?.close()
    return this.#progress
  }

  end(): void {
    this.#body?.close()
  }

  fail(cause: unknown): void {
    this.#response.reject(cause)
    this.#body?.error(cause)
  }

  speaking(): void {
    if (this.#progress !== 'waiting') return
    this.#progress = 'speaking'
    this.#advance('speaking')
  }

  #read(data: string): void {
    if (this.#progress === 'done') return
    this.#framed += `data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`
    if (this.#isLast(data)) this.#progress = 'done'
  }
}
