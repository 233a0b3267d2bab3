/**
 * The events of one turn over all attempts to read them. A stream that breaks is continued where it broke (`GET …/turns/{id}/stream`). Where
 * that is not possible, the message is sent again with its Idempotency-Key, and the reconciler removes what was already read.
 */
import { APIConnectionError, APIError, makeApiError } from './errors.ts'
import { quietMs, readEvents } from './event-stream.ts'
import { isEventId } from './options.ts'
import { persist } from './persist.ts'
import type { Call } from './persist.ts'
import { Reconciler } from './reconcile.ts'
import type { ChatStreamEvent } from './reconcile.ts'
import { readBody } from './request.ts'
import type { Outgoing, Send } from './request.ts'
import { sentAgain } from './retries.ts'
import { statusOfCode } from './status-of-code.ts'
import { turnPath } from './turn-path.ts'
import { readTurn } from './turn-wire.ts'
import type { Watch } from './watch.ts'
import type { ChatReply, WireEvent } from './wire.ts'

/** `failed`: the turn has ended without a reply, and this call must not be repeated. */
type End = { kind: 'completed'; reply: ChatReply } | { kind: 'failed'; error: APIError }
type Emit = (event: ChatStreamEvent) => void

/** The turn of a message that is yet to be sent, or a turn that exists, from its beginning or after an event. */
export type TurnSource = { message: Outgoing } | { requestId: string; after: string | undefined }

/** The turn failed with an event of its stream. */
class FailedByEvent extends Error {
  readonly failure: APIError
  constructor(failure: APIError) {
    super()
    this.failure = failure
  }
}

export class StreamedTurn {
  readonly #send: Send
  /** Undefined: it was sent by someone else, so it cannot be sent again. */
  readonly #message: Outgoing | undefined
  readonly #reconciler: Reconciler
  #requestId: string | undefined
  /** The position of the reconciler in the text. Undefined: no event has been read, or the last one had no ID. */
  #lastEventId: string | undefined
  /** The next attempt continues the turn instead of sending the message. */
  #continues: boolean

  constructor(send: Send, source: TurnSource) {
    this.#send = send
    this.#message = 'message' in source ? source.message : undefined
    this.#continues = !this.#message
    this.#requestId = 'requestId' in source ? source.requestId : undefined
    this.#lastEventId = 'requestId' in source ? source.after : undefined
    this.#reconciler = new Reconciler({ continues: this.#lastEventId !== undefined })
  }

  /** Emits the events of the turn, in as many attempts as the call allows. Returns the reply, and throws the error of the turn. */
  async run(call: Call, emit: Emit): Promise<ChatReply> {
    const end = await persist(call, (watch) => this.#attempt(watch, emit))
    if (end.kind === 'failed') throw end.error
    return end.reply
  }

  async #attempt(watch: Watch, emit: Emit): Promise<End> {
    try {
      return (this.#continues && (await this.#continue(watch, emit))) || (await this.#sendMessage(watch, emit))
    } catch (error) {
      throw error instanceof FailedByEvent ? error.failure : error
    }
  }

  /** Undefined: the turn cannot be continued, so its message must be sent again. */
  async #continue(watch: Watch, emit: Emit): Promise<End | undefined> {
    const path = turnPath(this.#requestId, '/stream')
    const position = this.#lastEventId === undefined ? {} : { lastEventId: this.#lastEventId }
    try {
      const response = await this.#send({ method: 'GET', path, accept: 'text/event-stream', also: 204, quietMs, ...position }, watch)
      // Ended, and its last event was read: an error that a retry may resolve.
      if (response.status === 204) return this.#message ? this.#giveUp() : await this.#readEnd(watch)
      return await this.#read(response, watch, emit)
    } catch (error) {
      // Released: it runs again when its message is sent again. Or the process is being stopped, and the turn continues elsewhere.
      if (error instanceof FailedByEvent && sentAgain(error.failure)) {
        return this.#message ? this.#giveUp() : this.#readEnd(watch)
      }
      // 404: erased, or the server is older than this endpoint. 422: another version of it does not know the event.
      if (this.#message && error instanceof APIError && (error.status === 404 || error.status === 422)) return this.#giveUp()
      throw error
    }
  }

  #giveUp(): undefined {
    this.#continues = false
  }

  async #sendMessage(watch: Watch, emit: Emit): Promise<End> {
    let started = false
    try {
      const response = await this.#send({ ...this.#message!, quietMs }, watch)
      started = true
      return await this.#read(response, watch, emit)
    } catch (error) {
      const runs = error instanceof APIError && error.code === 'idempotency_in_progress'
      this.#continues = (started || runs) && this.#requestId !== undefined && this.#lastEventId !== undefined
      throw error
    }
  }

  async #read(response: Response, watch: Watch, emit: Emit): Promise<End> {
    for await (const event of readEvents(response, watch)) {
      this.#lastEventId = isEventId(event.id) ? event.id : undefined
      if (event.type === 'error') throw new FailedByEvent(failureOf(event))
      if (event.type === 'response.created') this.#requestId = event.requestId
      for (const leaving of this.#reconciler.take(event)) emit(leaving)
      if (event.type === 'response.completed') {
        const { type: _, id: __, ...reply } = event
        return { kind: 'completed', reply }
      }
    }
    throw new APIConnectionError('The stream ended before its last event.')
  }

  /** How the turn ended, when its stream has nothing more to say. */
  async #readEnd(watch: Watch): Promise<End> {
    const outgoing = { method: 'GET', path: turnPath(this.#requestId), accept: 'application/json' } as const
    const turn = await readBody(await this.#send(outgoing, watch), watch, readTurn)
    const { requestId, conversationId, message, usage, error } = turn
    if (message) return { kind: 'completed', reply: { requestId, conversationId, message, usage } }
    if (!error) throw new APIConnectionError('The stream ended before its last event.')
    return { kind: 'failed', error: failureOf({ ...error, requestId }) }
  }
}

type Failure = Pick<Extract<WireEvent, { type: 'error' }>, 'code' | 'message' | 'requestId'>
function failureOf({ code, message, requestId }: Failure): APIError {
  const status = statusOfCode[code] ?? 500
  return makeApiError(`${status} ${code}: ${message}`, { code, requestId, status })
}
