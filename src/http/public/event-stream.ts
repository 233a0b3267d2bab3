/**
 * Writes one turn as server-sent events: `response.created`, deltas, then exactly one `response.completed` or `error`. It only listens: a
 * caller that disconnects or stops reading does not affect the turn. See docs/spec.md, "Streaming".
 */
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'
import type { Failpoints } from '../../failpoints.ts'
import type { RunningTurn } from '../../turn/outcome.ts'
import { chatResponse } from './chat-response.ts'
import type { StoredReply } from './chat-response.ts'
import { errorObject } from '../edge/envelope.ts'
import { cutOffWhenStalled } from './slow-reader.ts'

export type StreamTimes = {
  /** Interval of the comment lines that keep proxies from closing an idle stream. */
  heartbeatMs: number
  /** A reader that accepts no data for this long is disconnected. */
  stallMs: number
}

export type StreamOptions = { times: StreamTimes; failpoints: Failpoints; log: Logger }

// `stream.slow-reader`: this holds several minutes of generated text. Even the buffers of 10,000 slow readers fit in memory.
const unsentLimitBytes = 262_144

/**
 * Sends the headers and `response.created` immediately. Resolves after the turn has ended and its last event was written. `message` is the
 * message of the external user. Never rejects: after an internal error it closes the connection, and the turn continues.
 */
export async function streamTurn(response: ServerResponse, turn: RunningTurn, message: string, options: StreamOptions): Promise<void> {
  const closeOnError = breakingOff(response, turn.requestId, options)
  const stream = closeOnError(() => new EventStream(response, turn, message, options))
  if (!stream) return
  const stopListening = turn.listen((delta) => closeOnError(() => stream.delta(delta)))
  response.once('close', stopListening)
  const end = await turn.end
  stopListening()
  closeOnError(() => (end.kind === 'completed' ? stream.complete(end.reply) : stream.fail(new ApiError(end.code), turn.requestId)))
}

/** Sends a stored reply: `response.created`, then `response.completed`, without deltas (`idempotency.replay`). Never throws. */
export function streamReply(response: ServerResponse, reply: StoredReply, message: string, options: StreamOptions): void {
  breakingOff(response, reply.requestId, options)(() => new EventStream(response, reply, message, options).complete(reply))
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

class EventStream {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  /** Called after every write. */
  readonly #watchReader: () => void
  readonly #failpoints: Failpoints
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

  /** Sends the headers and `response.created` (`stream.established`). */
  constructor(
    response: ServerResponse,
    { requestId, conversationId }: { requestId: string; conversationId: string },
    message: string,
    { times, failpoints }: StreamOptions,
  ) {
    this.#response = response
    this.#message = message
    this.#failpoints = failpoints
    failpoints.hit('stream.before-created', message, this.#drop)
    response.writeHead(200, {
      'x-request-id': requestId,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    this.#chunked = response.chunkedEncoding
    response.chunkedEncoding = false
    this.#write(event('response.created', JSON.stringify({ request_id: requestId, conversation_id: conversationId })))
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeatMs)
    response.once('close', () => clearInterval(this.#heartbeat))
    this.#watchReader = cutOffWhenStalled(response, times.stallMs)
    this.#watchReader()
  }

  delta(text: string): void {
    if (this.#dropping || this.#response.destroyed) return
    this.#failpoints.hit('stream.before-delta', this.#message, this.#drop)
    const next = event('response.output_text.delta', `{"delta":${JSON.stringify(text)}}`)
    if (this.#response.writableLength + this.#pending.length + next.length > unsentLimitBytes) {
      this.#dropping = true
      return
    }
    if (this.#pending === '') process.nextTick(() => this.#flush())
    this.#pending += next
    // The first delta is sent right away, because the end user is waiting for it.
    if (!this.#started) this.#flush()
    this.#started = true
  }

  complete(reply: StoredReply): void {
    this.#end(event('response.completed', chatResponse(reply)))
  }

  fail({ code, message }: ApiError, requestId: string): void {
    this.#end(event('error', JSON.stringify(errorObject(code, message, requestId))))
  }

  #end(last: string): void {
    clearInterval(this.#heartbeat)
    this.#failpoints.hit('stream.before-end', this.#message, this.#drop)
    const rest = this.#pending + last
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

/** `data` must be one line. JSON text has no raw CR or LF, the only characters that end a line in an event stream. */
export const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`

/** Frames a chunk of a response with chunked encoding (RFC 9112, 7.1). */
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'
