/**
 * The events of a response stream, numbered so that every stream of a turn, on every process, has the same events with the same numbers
 * (`openai.resume`): four before the text, one for each of its pieces, and the end. docs/decisions/0039-openai.md says why.
 */
import { ApiError } from '../../errors.ts'
import type { TurnEnd } from '../../turn/outcome.ts'
import type { TextPosition } from '../../turn/turn-text.ts'
import { endedLater } from '../public/event-stream.ts'
import type { EventFormat } from '../public/event-stream.ts'
import { regenerated } from './completion-object.ts'
import { openAiError } from './openai-error.ts'
import { replyItemId } from './openai-ids.ts'
import { cutPieces } from './pieces.ts'
import { replyItem, responseObject, stateOfReply, statusOf, textPart } from './response-object.ts'
import type { ResponseFacts, ResponseState } from './response-object.ts'

// Each attempt has numbers of its own, because its text may differ. The longest reply has a sixth of them.
const numbersPerAttempt = 65_536
// created, in_progress, output_item.added, content_part.added
const eventsBeforeText = 4

/** The attempt whose event has this number, as its fence. */
export const fenceOfNumber = (number: number): number => Math.floor(number / numbersPerAttempt) + 1

const deltaType = 'response.output_text.delta'
const deltaStart = `event: ${deltaType}\ndata: {"type":"${deltaType}","sequence_number":`
const deltaEnd = ',"logprobs":[]}\n\n'

type EventFields = { type: string; [field: string]: unknown }

/** The text up to the end of a piece, and the number of pieces until there. */
type Sent = { offset: number; pieces: number }

export class ResponseEvents implements EventFormat {
  readonly first: string
  readonly #facts: ResponseFacts
  readonly #part: { item_id: string; output_index: number; content_index: number }
  readonly #deltaMiddle: string
  /** The number of the first event. */
  readonly #base: number
  /** Events up to this number are not sent. */
  readonly #after: number
  #sent: Sent = { offset: 0, pieces: 0 }
  #next: Sent = this.#sent
  /** What follows `#next`. */
  #rest = ''

  /** `fence`: of the attempt. `after`: the number of the last event that the client has. */
  constructor(facts: ResponseFacts, fence: number, after?: number) {
    this.#facts = facts
    this.#part = { item_id: replyItemId(facts.requestId), output_index: 0, content_index: 0 }
    this.#deltaMiddle = `,${JSON.stringify(this.#part).slice(1, -1)},"delta":`
    this.#base = (fence - 1) * numbersPerAttempt
    this.#after = after ?? -1
    const response = responseObject(facts, { status: 'in_progress' })
    const item = replyItem(facts.requestId, null, 'in_progress')
    this.first = this.#write(this.#base, [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.content_part.added', ...this.#part, part: textPart('') },
    ])
  }

  text(text: string, position: TextPosition): string {
    const rest = this.#rest + text
    const { pieces, end } = cutPieces(rest, 0, position.offset - rest.length, false)
    this.#rest = rest.slice(end)
    const events = this.#deltas(this.#next.pieces, pieces)
    this.#next = { offset: position.offset - this.#rest.length, pieces: this.#next.pieces + pieces.length }
    return events
  }

  accepted(): void {
    this.#sent = this.#next
  }

  /** Whether the client has text of this attempt that it did not get here. */
  get resumesText(): boolean {
    return this.#after >= this.#base + eventsBeforeText
  }

  /** This format cannot take text back. */
  reset(): { events: string; isLast: boolean } {
    const isShown = this.#sent.pieces > 0 || this.resumesText
    // mutant: openai.resume
    if (isShown) return { events: this.#error(this.#freeNumber, regenerated), isLast: true }
    this.#next = { offset: 0, pieces: 0 }
    this.#rest = ''
    return { events: '', isLast: false }
  }

  last(end: TurnEnd): string {
    if (end.kind === 'failed') return this.#failed(end)
    const { reply, details } = end
    const text = reply.content
    const { pieces } = cutPieces(text, this.#sent.offset, 0, true)
    const number = this.#textNumber(this.#sent.pieces + pieces.length)
    const state = stateOfReply(reply, details)
    const item = replyItem(this.#facts.requestId, text, statusOf(reply))
    const ending = this.#write(number, [
      { type: 'response.output_text.done', ...this.#part, text, logprobs: [] },
      { type: 'response.content_part.done', ...this.#part, part: textPart(text) },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: `response.${state.status}`, response: responseObject(this.#facts, state) },
    ])
    return this.#deltas(this.#sent.pieces, pieces) + ending
  }

  refused(): string {
    return this.last(endedLater)
  }

  /**
   * If this process does not know the end, another one may still complete the response (`unavailable.unknown`), so it has not failed. The error
   * then has the number of the last event that the client has, because the next number is that of an event which the client must still get.
   */
  #failed({ code, state }: Extract<TurnEnd, { kind: 'failed' }>): string {
    if (state === null) {
      const lastNumber = Math.max(this.#textNumber(this.#sent.pieces) - 1, this.#after)
      return this.#error(lastNumber, openAiError(new ApiError(code)))
    }
    const ended: ResponseState = { status: state === 'cancelled' ? 'cancelled' : 'failed', code }
    return this.#write(this.#freeNumber, [{ type: 'response.failed', response: responseObject(this.#facts, ended) }])
  }

  #error(number: number, { code, message, param }: { code: string; message: string; param: string | null }): string {
    return eventOf(number, { type: 'error', code, message, param })
  }

  /** Greater than those of all events that the client has. */
  get #freeNumber(): number {
    return Math.max(this.#textNumber(this.#next.pieces), this.#after + 1)
  }

  #textNumber(pieces: number): number {
    return this.#base + eventsBeforeText + pieces
  }

  /** Written directly: there is one for each word. */
  #deltas(piecesBefore: number, pieces: string[]): string {
    let events = ''
    let number = this.#textNumber(piecesBefore)
    for (const piece of pieces) {
      if (number > this.#after) events += `${deltaStart}${number}${this.#deltaMiddle}${JSON.stringify(piece)}${deltaEnd}`
      number++
    }
    return events
  }

  /** Numbers the events from `number` on, and leaves out those that the client has. */
  #write(number: number, events: EventFields[]): string {
    let text = ''
    for (const [index, event] of events.entries()) if (number + index > this.#after) text += eventOf(number + index, event)
    return text
  }
}

const eventOf = (number: number, { type, ...fields }: EventFields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`
