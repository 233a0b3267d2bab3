/**
 * Writes one turn as server-sent events: `response.created`, deltas, then exactly one `response.completed` or `error`, each with an ID at which
 * another stream can continue. It only listens: a caller that disconnects or stops reading does not affect the turn. See docs/spec.md,
 * "Streaming".
 */
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'
import type { Failpoints } from '../../failpoints.ts'
import type { RunningTurn, TurnEnd } from '../../turn/outcome.ts'
import { textStart } from '../../turn/turn-text.ts'
import type { TextPosition } from '../../turn/turn-text.ts'
import { chatResponse } from './chat-response.ts'
import type { StoredReply } from './chat-response.ts'
import { errorObject } from '../edge/envelope.ts'
import { lastEventId, writeEventId } from './event-id.ts'
import { cutOffWhenStalled } from './slow-reader.ts'
import type { ReaderTimes } from './slow-reader.ts'
import type { UnreadResponses } from './unread-responses.ts'

export type StreamTimes = ReaderTimes & {
  /** Interval of the comment lines that keep proxies from closing an idle stream. */
  heartbeatMs: number
}

export type StreamOptions = { times: StreamTimes; failpoints: Failpoints; log: Logger; unread: UnreadResponses }

// `stream.slow-reader`: this holds several minutes of generated text. Even the buffers of 10,000 slow readers fit in memory.
const unsentLimitBytes = 262_144

/**
 * Sends the headers and `response.created` immediately. Resolves after the turn has ended and its last event was written. `message` is the
 * message of the external user, for failpoints. `after`: continues an earlier stream after this position, without `response.created`. Never
 * rejects: after an internal error it closes the connection, and the turn continues.
 */
export async function streamTurn(
  response: ServerResponse,
  turn: RunningTurn,
  message: string,
  options: StreamOptions,
  after?: TextPosition,
): Promise<void> {
  const closeOnError = breakingOff(response, turn.requestId, options)
  const stream = closeOnError(() => new EventStream(response, turn, message, options, after))
  if (!stream) return
  const listener = {
    onText: (text: string, position: TextPosition) => closeOnError(() => stream.delta(text, position)),
    onReset: () => closeOnError(() => stream.reset()),
  }
  const stopListening = turn.listen(listener, after)
  response.once('close', stopListening)
  const end = await turn.end
  stopListening()
  closeOnError(() => stream.end(end, turn.requestId))
}

/** Sends a stored reply: `response.created`, then `response.completed`, without deltas (`idempotency.replay`). Never throws. */
export function streamReply(response: ServerResponse, reply: StoredReply, message: string, options: StreamOptions): void {
  const write = (): void => new EventStream(response, reply, message, options).end({ kind: 'completed', reply }, reply.requestId)
  breakingOff(response, reply.requestId, options)(write)
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
  readonly #unread: UnreadResponses
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
  /** Where the sent text ends. */
  #position: TextPosition

  /** Sends the headers and `response.created` (`stream.established`). */
  constructor(
    response: ServerResponse,
    { requestId, conversationId }: { requestId: string; conversationId: string },
    message: string,
    { times, failpoints, unread }: StreamOptions,
    after?: TextPosition,
  ) {
    this.#position = after ?? textStart
    this.#response = response
    this.#message = message
    this.#failpoints = failpoints
    this.#unread = unread
    failpoints.hit('stream.before-created', message, this.#drop)
    response.writeHead(200, {
      'x-request-id': requestId,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    this.#chunked = response.chunkedEncoding
    response.chunkedEncoding = false
    const created = JSON.stringify({ request_id: requestId, conversation_id: conversationId })
    // A stream that continues another one has no event of its own until there is text. The comment tells proxies that it has started.
    this.#write(after ? ':\n\n' : event('response.created', writeEventId(this.#position), created))
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeatMs)
    response.once('close', () => clearInterval(this.#heartbeat))
    this.#watchReader = cutOffWhenStalled(response, times)
    this.#watchReader()
  }

  delta(text: string, position: TextPosition): void {
    if (this.#dropping || this.#response.destroyed) return
    this.#failpoints.hit('stream.before-delta', this.#message, this.#drop)
    this.#push(event('response.output_text.delta', writeEventId(position), `{"delta":${JSON.stringify(text)}}`), position)
  }

  /** The text is a different one from here on (`stream.resume`). */
  reset(): void {
    if (this.#response.destroyed) return
    this.#push(event('response.output_text.reset', writeEventId(textStart), '{}'), textStart)
  }

  #push(next: string, position: TextPosition): void {
    if (this.#dropping || this.#response.writableLength + this.#pending.length + next.length > unsentLimitBytes) {
      this.#dropping = true
      return
    }
    this.#position = position
    if (this.#pending === '') process.nextTick(() => this.#flush())
    this.#pending += next
    // The first delta is sent right away, because the end user is waiting for it.
    if (!this.#started) this.#flush()
    this.#started = true
  }

  /** An end that is final has an ID after which nothing follows. After any other one, the turn may still go on (`unavailable.unknown`). */
  end(end: TurnEnd, requestId: string): void {
    if (end.kind === 'completed') return this.#end(event('response.completed', lastEventId, chatResponse(end.reply)))
    const { code, message } = new ApiError(end.code)
    const id = end.state === 'failed' || end.state === 'cancelled' ? lastEventId : writeEventId(this.#position)
    this.#end(event('error', id, JSON.stringify(errorObject(code, message, requestId))))
  }

  #end(last: string): void {
    clearInterval(this.#heartbeat)
    this.#failpoints.hit('stream.before-end', this.#message, this.#drop)
    const rest = this.#pending + last
    // `overload.unread`: the same Idempotency-Key gets the reply when the key's other responses have been read.
    if (!this.#unread.take(this.#response, Buffer.byteLength(rest))) return this.#drop()
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
export const event = (name: string, id: string, data: string): string => `event: ${name}\nid: ${id}\ndata: ${data}\n\n`

/** Frames a chunk of a response with chunked encoding (RFC 9112, 7.1). */
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lastChunk = '0\r\n\r\n'
