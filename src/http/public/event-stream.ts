/**
 * Writes one run as server-sent events, in any format: a first event, the text, then exactly one end. It only listens: a caller that
 * disconnects or stops reading does not affect a turn. turn-events.ts has the events of docs/spec.md, "Streaming".
 */
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'
import type { Failpoints } from '../../failpoints.ts'
import type { RunningTurn, TurnEnd } from '../../turn/outcome.ts'
import type { TextPosition } from '../../turn/turn-text.ts'
import { cutOffWhenStalled } from './slow-reader.ts'
import type { ReaderTimes } from './slow-reader.ts'
import type { UnreadResponses } from './unread-responses.ts'

export type StreamTimes = ReaderTimes & {
  /** Interval of the comment lines that keep proxies from closing an idle stream. */
  heartbeatMs: number
}

export type StreamOptions = {
  times: StreamTimes
  failpoints: Failpoints
  log: Logger
  unread: UnreadResponses
  /** What caches may do: `no-cache` on the public API, `no-store` on the admin API, like the other responses of the admin API. */
  caching: 'no-cache' | 'no-store'
  /** Aborted when the caller may no longer receive the stream (`operator.ends-streams`). Its reason, an ApiError, is the last event. Default: never. */
  access?: AbortSignal | undefined
}

/** A run as a stream needs it: a turn, or a run of the operator that is not stored. */
export type StreamedRun<End = TurnEnd> = Pick<RunningTurn, 'requestId' | 'listen'> & { readonly end: Promise<End> }

/** The events of one stream, as text. Called in the order of the run. */
export interface EventFormat<End = TurnEnd> {
  /** Sent with the headers, before there is text. */
  readonly first: string
  /** The events of new text, which ends at `position`; empty if none is due yet. */
  text(text: string, position: TextPosition): string
  /** The events that were returned last are sent. They are not if the reader is too slow (`stream.slow-reader`). */
  accepted(): void
  /** The text is a different one from here on (`stream.resume`). `isLast`: the stream ends with these events. */
  reset(): { events: string; isLast: boolean }
  /** The events after the last text. */
  last(end: End): string
  /**
   * The event in place of an end that is not sent: of a caller that has too much unread (`overload.unread`), or may no longer receive the stream
   * (`operator.ends-streams`). The run itself may go on, and another stream continues after the text that was accepted.
   */
  refused(error: ApiError): string
}

// `stream.slow-reader`: this holds several minutes of generated text. Even the buffers of 10,000 slow readers fit in memory.
const unsentLimitBytes = 262_144
/** `overload.unread`: how a stream ends whose caller gets the end of the turn later. The turn itself is as it is stored. */
export const endedLater: TurnEnd = { kind: 'failed', code: 'service_unavailable', state: null }

// The first event, which the socket may not have confirmed yet.
const nearlyNothing = 16_384

/**
 * Sends the headers and the first event immediately. Resolves after the run has ended and its last event was written. `message` is the
 * message of the end user, for failpoints. `after`: listens from this position of the text on. Never rejects: after an internal error it
 * closes the connection, and a turn continues.
 */
export async function streamRun<End>(
  response: ServerResponse,
  run: StreamedRun<End>,
  format: EventFormat<End>,
  message: string,
  options: StreamOptions,
  after?: TextPosition,
): Promise<void> {
  const closeOnError = breakingOff(response, run.requestId, options)
  const stream = closeOnError(() => new EventStream(response, run.requestId, format, message, options))
  if (!stream) return
  const listener = {
    onText: (text: string, position: TextPosition) => closeOnError(() => stream.delta(text, position)),
    onReset: () => closeOnError(() => stream.reset()),
  }
  const stopListening = run.listen(listener, after)
  response.once('close', stopListening)
  const { access } = options
  const end = access ? await Promise.race([run.end, refusal(access)]) : await run.end
  stopListening()
  closeOnError(() => (end instanceof ApiError ? stream.refuse(end) : stream.end(end)))
}

/** Resolves with the reason when the access has ended. */
const refusal = (access: AbortSignal): Promise<ApiError> =>
  new Promise((resolve) => {
    const end = (): void => resolve(access.reason as ApiError)
    if (access.aborted) end()
    else access.addEventListener('abort', end, { once: true })
  })

/** Sends a stored reply: the first event, then the end (`idempotency.replay`). Never throws. */
export function streamReply(
  response: ServerResponse,
  end: Extract<TurnEnd, { kind: 'completed' }>,
  format: EventFormat,
  message: string,
  options: StreamOptions,
): void {
  const { requestId } = end.reply
  const write = (): void => new EventStream(response, requestId, format, message, options).end(end)
  breakingOff(response, requestId, options)(write)
}

/** Returns a function that runs a write. The status is already sent, so after an error it can only log the error and close the connection. */
function breakingOff(response: ServerResponse, requestId: string, { log }: StreamOptions) {
  return <Result>(write: () => Result): Result | undefined => {
    try {
      return write()
    } catch (error) {
      log.error({ err: error, request_id: requestId }, 'event stream failed, closing the connection')
      response.destroy()
      return undefined
    }
  }
}

class EventStream<End> {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  /** Called after every write. */
  readonly #watchReader: () => void
  readonly #failpoints: Failpoints
  readonly #unread: UnreadResponses
  readonly #format: EventFormat<End>
  /** Passed to failpoints. */
  readonly #message: string
  readonly #drop = (): void => void this.#response.destroy()
  /** Whether the response uses chunked encoding. This class writes the chunk framing itself. */
  readonly #chunked: boolean
  /** The deltas of the current tick, sent in one write. */
  #pending = ''
  #started = false
  /** `stream.slow-reader`: after the first dropped delta all later ones are dropped, so the sent text stays a prefix of the reply. */
  #dropping = false
  #ended = false

  /** Sends the headers and the first event (`stream.established`). */
  constructor(
    response: ServerResponse,
    requestId: string,
    format: EventFormat<End>,
    message: string,
    { times, failpoints, unread, caching }: StreamOptions,
  ) {
    this.#format = format
    this.#response = response
    this.#message = message
    this.#failpoints = failpoints
    this.#unread = unread
    failpoints.hit('stream.before-created', message, this.#drop)
    response.writeHead(200, {
      'x-request-id': requestId,
      'content-type': 'text/event-stream',
      'cache-control': `${caching}, no-transform`,
      // mutant: rate.headers
      'x-accel-buffering': 'no',
    })
    this.#chunked = response.chunkedEncoding
    response.chunkedEncoding = false
    // A stream that continues another one has no event of its own until there is text. The comment tells proxies that it has started.
    this.#write(format.first || ':\n\n')
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeatMs)
    response.once('close', () => clearInterval(this.#heartbeat))
    this.#watchReader = cutOffWhenStalled(response, times)
    this.#watchReader()
  }

  delta(text: string, position: TextPosition): void {
    if (this.#dropping || this.#response.destroyed) return
    this.#failpoints.hit('stream.before-delta', this.#message, this.#drop)
    this.#push(this.#format.text(text, position))
  }

  reset(): void {
    if (this.#response.destroyed || this.#ended) return
    const { events, isLast } = this.#format.reset()
    if (isLast) this.#end(events)
    else this.#push(events)
  }

  #push(next: string): void {
    if (this.#dropping || !this.#fits(next.length)) {
      // mutant: stream.slow-reader
      this.#dropping = true
      return
    }
    this.#format.accepted()
    if (next === '') return
    if (this.#pending === '') process.nextTick(() => this.#flush())
    this.#pending += next
    // The first delta is sent right away, because the end user is waiting for it.
    if (!this.#started) this.#flush()
    this.#started = true
  }

  /** A caller that joins late gets all of the text so far at once. It may be longer than the limit, and counts as a finished response then. */
  #fits(length: number): boolean {
    const waiting = this.#response.writableLength + this.#pending.length
    return waiting + length <= unsentLimitBytes || (waiting <= nearlyNothing && this.#unread.take(this.#response, length))
  }

  end(end: End): void {
    if (!this.#ended) this.#end(this.#format.last(end))
  }

  refuse(error: ApiError): void {
    if (!this.#ended) this.#end(this.#format.refused(error))
  }

  #end(last: string): void {
    this.#ended = true
    this.#dropping = true
    clearInterval(this.#heartbeat)
    this.#failpoints.hit('stream.before-end', this.#message, this.#drop)
    const whole = this.#pending + last
    // `overload.unread`: another stream, or the same Idempotency-Key, gets the rest when the key's other responses have been read.
    const isTaken = this.#unread.take(this.#response, Buffer.byteLength(whole))
    const rest = isTaken ? whole : this.#pending + this.#format.refused(new ApiError('service_unavailable'))
    this.#response.end(this.#chunked ? `${chunk(rest)}${lastChunk}` : rest)
    this.#pending = ''
    this.#watchReader()
  }

  #flush(): void {
    if (this.#pending === '') return
    this.#write(this.#pending)
    this.#pending = ''
    this.#watchReader()
  }

  /** Sends a heartbeat only if no data is waiting: it must not add to the backlog of a slow reader. */
  #beat(): void {
    if (this.#response.writableLength > 0) return
    this.#write(':\n\n')
    this.#watchReader()
  }

  /** Makes one system call, immediately. Node would frame a chunk with three more writes and delay them to the end of the tick. */
  #write(text: string): void {
    const { socket } = this.#response
    socket?.cork()
    this.#response.write(this.#chunked ? chunk(text) : text)
    socket?.uncork()
  }
}

/** Frames a chunk of a response with chunked encoding (RFC 9112, 7.1). */
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'
