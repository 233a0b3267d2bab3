/**
 * The event stream of one turn: `response.created`, deltas, then exactly one of `response.completed` and `error`. Only listens: a caller
 * who leaves or does not read changes nothing about the turn. Specification section 6; rulings, Streams.
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
  /** A comment line this often keeps proxies from closing a quiet stream. */
  heartbeatMs: number
  /** A reader who takes nothing for so long is cut off. */
  stallMs: number
}

export type StreamOptions = { times: StreamTimes; failpoints: Failpoints; log: Logger }

// Rulings, `stream.slow-reader`: some minutes of speech for a slow reader, and 10,000 of them still fit into a machine's memory.
const unsentLimitBytes = 262_144

/**
 * Headers and `response.created` leave at once; resolves when the turn has ended and its last event was written. `message` is the user's. Never
 * rejects: a stream that fails by a fault of ours breaks off, which its caller understands and the turn does not feel.
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

/** `idempotency.replay`: created, then completed; deltas are not replayed. Never throws, as `streamTurn`. */
export function streamReply(response: ServerResponse, reply: StoredReply, message: string, options: StreamOptions): void {
  breakingOff(response, reply.requestId, options)(() => new EventStream(response, reply, message, options).complete(reply))
}

/** Does what writes to a stream. Of a status that has left no error can be told, so the connection is the answer, and the log has the reason. */
function breakingOff(response: ServerResponse, requestId: string, { log }: StreamOptions) {
  return <Result>(write: () => Result): Result | undefined => {
    try {
      return write()
    } catch (error) {
      log.error({ err: error, request_id: requestId }, 'an event stream broke off by a fault of ours')
      response.destroy()
      return undefined
    }
  }
}

class EventStream {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  /** After every write. */
  readonly #watchReader: () => void
  readonly #failpoints: Failpoints
  /** For failpoints. */
  readonly #message: string
  readonly #drop = (): void => void this.#response.destroy()
  /** HTTP/1.1: the body goes in chunks, which are framed here. */
  readonly #chunked: boolean
  /** Deltas of the running tick; they leave in one write. */
  #pending = ''
  #started = false
  /** `stream.slow-reader`: from the first delta that is dropped all are, so that what was sent stays the beginning of the reply. */
  #dropping = false

  /** `stream.established` */
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
    // The first words are what a person waits for.
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

  /** For a quiet stream only: what a slow reader has not taken grows by nothing that he can do without. */
  #beat(): void {
    if (this.#response.writableLength > 0) return
    this.#write(':\n\n')
    this.#watchReader()
  }

  /** One call of the system, made at once: Node would frame a chunk in three writes more, and hold it back to the end of the tick to gather them. */
  #write(text: string): void {
    const { socket } = this.#response
    socket?.cork()
    this.#response.write(this.#chunked ? chunk(text) : text)
    socket?.uncork()
  }
}

/** `data` is one line: JSON has no raw CR or LF, and no other character ends a line of an event stream. */
export const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`

/** RFC 9112, section 7.1. */
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'
