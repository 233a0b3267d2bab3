/**
 * The events of a turn: `response.created`, deltas, then exactly one `response.completed` or `error`, each with an ID at which another stream
 * can continue. See docs/spec.md, "Streaming".
 */
import { ApiError } from '../../errors.ts'
import type { TurnEnd } from '../../turn/outcome.ts'
import { textStart } from '../../turn/turn-text.ts'
import type { TextPosition } from '../../turn/turn-text.ts'
import { errorObject } from '../edge/envelope.ts'
import { chatResponse } from './chat-response.ts'
import { lastEventId, writeEventId } from './event-id.ts'
import type { EventFormat } from './event-stream.ts'
import type { ResponseCreated } from './schemas.ts'

export class TurnEvents implements EventFormat {
  readonly first: string
  readonly #requestId: string
  /** Where the sent text ends. */
  #position: TextPosition
  #next: TextPosition

  /** `after`: continues an earlier stream after this position, without `response.created`. */
  constructor({ requestId, conversationId }: { requestId: string; conversationId: string }, after?: TextPosition) {
    this.#requestId = requestId
    this.#position = after ?? textStart
    this.#next = this.#position
    const created = JSON.stringify({ request_id: requestId, conversation_id: conversationId } satisfies ResponseCreated)
    this.first = after ? '' : event('response.created', writeEventId(this.#position), created)
  }

  text(text: string, position: TextPosition): string {
    this.#next = position
    return event('response.output_text.delta', writeEventId(position), `{"delta":${JSON.stringify(text)}}`)
  }

  accepted(): void {
    this.#position = this.#next
  }

  reset(): { events: string; isLast: boolean } {
    this.#next = textStart
    return { events: event('response.output_text.reset', writeEventId(textStart), '{}'), isLast: false }
  }

  /** An end that is final has an ID after which nothing follows. After any other one, the turn may still go on (`unavailable.unknown`). */
  last(end: TurnEnd): string {
    if (end.kind === 'completed') return event('response.completed', lastEventId, chatResponse(end.reply))
    const id = end.state === 'failed' || end.state === 'cancelled' ? lastEventId : writeEventId(this.#position)
    return this.#error(id, new ApiError(end.code))
  }

  refused(error: ApiError): string {
    return this.#error(writeEventId(this.#position), error)
  }

  #error(id: string, { code, message }: ApiError): string {
    return event('error', id, JSON.stringify(errorObject(code, message, this.#requestId)))
  }
}

/** `data` must be one line. JSON text has no raw CR or LF, the only characters that end a line in an event stream. */
export const event = (name: string, id: string, data: string): string => `event: ${name}\nid: ${id}\ndata: ${data}\n\n`
