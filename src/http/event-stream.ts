/**
 * The event stream of one turn: `response.created`, deltas, then exactly one of `response.completed` and `error`. Only listens: a caller
 * who leaves or does not read changes nothing about the turn. Specification section 6; rulings, Streams.
 */
import type { ServerResponse } from 'node:http'
import { ApiError } from '../errors.ts'
import type { RunningTurn } from '../turn/outcome.ts'
import { chatResponse } from './chat-response.ts'
import type { StoredReply } from './chat-response.ts'
import { errorObject } from './envelope.ts'
import { cutOffWhenStalled } from './slow-reader.ts'

export type StreamTimes = {
  /** A comment line this often keeps proxies from closing a quiet stream. */
  heartbeatMs: number
  /** A reader who takes nothing for so long is cut off. */
  stallMs: number
}

// Rulings, `stream.slow-reader`: some minutes of speech for a slow reader, and 10,000 of them still fit into a machine's memory.
const unsentLimitBytes = 262_144

/** Headers and `response.created` leave at once; resolves when the turn has ended and its last event was written. */
export async function streamTurn(response: ServerResponse, turn: RunningTurn, times: StreamTimes): Promise<void> {
  const stream = new EventStream(response, turn, times)
  const stopListening = turn.listen((delta) => stream.delta(delta))
  response.once('close', stopListening)
  const end = await turn.end
  stopListening()
  if (end.kind === 'completed') stream.complete(end.reply)
  else stream.fail(new ApiError(end.code), turn.requestId)
}

/** `idempotency.replay`: created, then completed; deltas are not replayed. */
export function streamReply(response: ServerResponse, reply: StoredReply, times: StreamTimes): void {
  new EventStream(response, reply, times).complete(reply)
}

class EventStream {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  /** After every write. */
  readonly #watchReader: () => void
  /** Deltas of the running tick; they leave in one write. */
  #pending = ''
  #started = false
  /** `stream.slow-reader`: from the first delta that is dropped all are, so that what was sent stays the beginning of the reply. */
  #dropping = false

  /** `stream.established` */
  constructor(response: ServerResponse, { requestId, conversationId }: { requestId: string; conversationId: string }, times: StreamTimes) {
    this.#response = response
    response.writeHead(200, {
      'x-request-id': requestId,
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    response.write(event('response.created', JSON.stringify({ request_id: requestId, conversation_id: conversationId })))
    this.#heartbeat = setInterval(() => this.#beat(), times.heartbeatMs)
    response.once('close', () => clearInterval(this.#heartbeat))
    this.#watchReader = cutOffWhenStalled(response, times.stallMs)
    this.#watchReader()
  }

  delta(text: string): void {
    if (this.#dropping || this.#response.destroyed) return
    const next = event('response.output_text.delta', JSON.stringify({ delta: text }))
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
    this.#response.end(this.#pending + last)
    this.#pending = ''
    this.#watchReader()
  }

  #flush(): void {
    if (this.#pending === '') return
    this.#response.write(this.#pending)
    this.#pending = ''
    this.#watchReader()
  }

  /** For a quiet stream only: what a slow reader has not taken grows by nothing that he can do without. */
  #beat(): void {
    if (this.#response.writableLength > 0) return
    this.#response.write(':\n\n')
    this.#watchReader()
  }
}

/** `data` is one line: JSON has no raw CR or LF, and no other character ends a line of an event stream. */
export const event = (name: string, data: string): string => `event: ${name}\ndata: ${data}\n\n`
