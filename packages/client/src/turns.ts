/** The turns of the API key by their request IDs or Idempotency-Keys: their status, their streams, and how to cancel and rate them. */
import { readEventId, readLimits } from './options.ts'
import type { Limits, RequestOptions, TurnStreamOptions } from './options.ts'
import { persist } from './persist.ts'
import { ReplyStream } from './reply-stream.ts'
import { readBody } from './request.ts'
import type { Outgoing, Send } from './request.ts'
import { StreamedTurn } from './streamed-turn.ts'
import { turnOfKeyPath, turnPath } from './turn-path.ts'
import { readFeedback, readTurn, writeFeedback } from './turn-wire.ts'
import type { Feedback, FeedbackRequest, Turn } from './turn-wire.ts'

export class Turns {
  readonly #send: Send
  readonly #limits: Limits

  constructor(send: Send, limits: Limits) {
    this.#send = send
    this.#limits = limits
  }

  /** The turn as it is now. Throws NotFoundError if it is unknown, erased, or of another API key. */
  async get(requestId: string, options: RequestOptions = {}): Promise<Turn> {
    return this.#ask({ method: 'GET', path: turnPath(requestId), accept: 'application/json' }, options, readTurn)
  }

  /**
   * The turn of the message that was sent with this Idempotency-Key, for a process that did not get its response. Throws NotFoundError if no
   * message with this key has been accepted yet, if the turn was erased, and 24 hours after its end.
   */
  async find(idempotencyKey: string, options: RequestOptions = {}): Promise<Turn> {
    return this.#ask({ method: 'GET', path: turnOfKeyPath(idempotencyKey), accept: 'application/json' }, options, readTurn)
  }

  /**
   * The events of a turn that runs or has ended: from the beginning, with all the text so far in one delta, or after an event. A stream
   * that breaks is continued. With `after`, `response.created` is not emitted; after the last event of an ended turn, nothing is, and
   * `completed` still resolves with the reply. Nothing is sent before the stream is read. Throws NotFoundError as `get` does,
   * ValidationError if `after` is not the ID of an event, and the turn's own error if it ends without a reply. A `released` turn is not run
   * again: that needs its message.
   */
  stream(requestId: string, { after, ...options }: TurnStreamOptions = {}): ReplyStream {
    const call = { ...readLimits(options, this.#limits), signal: options.signal }
    // Throws now, and not when the stream is read.
    turnPath(requestId)
    const turn = new StreamedTurn(this.#send, { requestId, after: readEventId(after) })
    return new ReplyStream((emit, signal) => turn.run({ ...call, signal }, emit), options.signal)
  }

  /**
   * Requests the end of a running turn, and returns it as it is then: usually ended, or still running with `cancelRequested`. Before any
   * text, it ends as `cancelled`: its calls and streams get a ConflictError with the code `turn_cancelled`, and only finished
   * tool calls that have a price are charged. After
   * text, the text so far becomes the reply: `message.incomplete` is true, and it is charged. Has no effect on a turn that has ended. Can be
   * repeated. Throws NotFoundError as `get` does.
   */
  async cancel(requestId: string, options: RequestOptions = {}): Promise<Turn> {
    return this.#ask({ method: 'POST', path: turnPath(requestId, '/cancel'), accept: 'application/json' }, options, readTurn)
  }

  /**
   * Stores what the end user thinks of the reply. The last one replaces those before it. Throws NotFoundError as `get` does, and
   * ValidationError if the turn is still running, or if the comment or the tags are too long.
   */
  async feedback(requestId: string, feedback: FeedbackRequest, options: RequestOptions = {}): Promise<Feedback> {
    const path = turnPath(requestId, '/feedback')
    return this.#ask({ method: 'POST', path, accept: 'application/json', body: writeFeedback(feedback) }, options, readFeedback)
  }

  #ask<Result>(outgoing: Outgoing, options: RequestOptions, read: (value: unknown) => Result | undefined): Promise<Result> {
    const call = { ...readLimits(options, this.#limits), signal: options.signal }
    return persist(call, async (watch) => readBody(await this.#send(outgoing, watch), watch, read))
  }
}
