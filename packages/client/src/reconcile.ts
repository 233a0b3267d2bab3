/**
 * Decides what the reader of a stream receives over all attempts at one message: exactly one `response.created`, deltas that add up to the
 * completed content, none twice, and a reset if an attempt differs from what was shown. Pure.
 */
import type { ChatReply, WireEvent } from './wire.ts'

/**
 * `id` names the position in the turn's text after the event: `client.turns.stream(requestId, { after: id })` continues there. Events from
 * older servers, and some that this client creates, do not have it.
 */
export type ChatStreamEvent = { id?: string } & (
  | { type: 'response.created'; requestId: string; conversationId: string }
  | { type: 'response.output_text.delta'; delta: string }
  /** The turn was run again and the text differs: discard the deltas so far; deltas from the beginning follow. */
  | { type: 'response.output_text.reset' }
  | ({ type: 'response.completed' } & ChatReply)
)

export class Reconciler {
  #created = false
  /** What was passed on since the last reset. */
  #shown = ''
  /** How much of it this attempt has repeated. The text of an attempt so far is always a prefix of what was shown. */
  #saidAgain = 0
  /** What the reader has shown starts with a text that is not known here. */
  #continues: boolean

  /** `continues`: the reader has already the text before the first event, so `response.created` is not emitted. */
  constructor({ continues = false }: { continues?: boolean } = {}) {
    this.#continues = continues
    this.#created = continues
  }

  /** Call when another attempt starts from the beginning of its text. An attempt that continues where the previous one broke needs no call. */
  begin(): void {
    this.#saidAgain = 0
  }

  /** Returns the events to pass on for this one. The last of them has its `id`. */
  take(event: Exclude<WireEvent, { type: 'error' }>): ChatStreamEvent[] {
    const events = this.#eventsFor(event)
    const last = events.pop()
    if (!last) return []
    return [...events, event.id === undefined ? last : { ...last, id: event.id }]
  }

  #eventsFor(event: Exclude<WireEvent, { type: 'error' }>): ChatStreamEvent[] {
    switch (event.type) {
      case 'response.created':
        // Its text starts from the beginning, also if it was asked to continue: the turn has been run again.
        return [...this.#create(event), ...this.#reset()]
      case 'response.output_text.delta':
        return this.#say(event.delta)
      case 'response.output_text.reset':
        return this.#reset()
      case 'response.completed':
        return [...this.#create(event), ...this.#sayAll(event.message.content), event]
    }
  }

  /** The reader gets a reset only when the text that follows differs, which an unknown text cannot be compared with. */
  #reset(): ChatStreamEvent[] {
    if (this.#continues) return this.#startOver('')
    this.begin()
    return []
  }

  #create({ requestId, conversationId }: { requestId: string; conversationId: string }): ChatStreamEvent[] {
    if (this.#created) return []
    this.#created = true
    return [{ type: 'response.created', requestId, conversationId }]
  }

  #say(delta: string): ChatStreamEvent[] {
    const again = delta.slice(0, this.#shown.length - this.#saidAgain)
    if (!this.#shown.startsWith(again, this.#saidAgain)) return this.#startOver(this.#shown.slice(0, this.#saidAgain) + delta)
    this.#saidAgain += delta.length
    return this.#show(delta.slice(again.length))
  }

  /** The completed content is the whole text of the attempt, whatever its deltas were. */
  #sayAll(content: string): ChatStreamEvent[] {
    if (this.#continues) return content.endsWith(this.#shown) ? [] : this.#startOver(content)
    return content.startsWith(this.#shown) ? this.#show(content.slice(this.#shown.length)) : this.#startOver(content)
  }

  #startOver(text: string): ChatStreamEvent[] {
    this.#continues = false
    this.#shown = ''
    this.#saidAgain = text.length
    return [{ type: 'response.output_text.reset' }, ...this.#show(text)]
  }

  #show(delta: string): ChatStreamEvent[] {
    if (delta === '') return []
    this.#shown += delta
    return [{ type: 'response.output_text.delta', delta }]
  }
}
