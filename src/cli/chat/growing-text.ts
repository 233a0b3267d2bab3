/**
 * Merges the deltas of several attempts into one growing reply without repeating text. If an attempt produces a different text than was
 * shown, it resets the sink and sends the whole text again.
 */

export type TextSink = {
  piece(text: string): void
  /** The text shown so far is invalid; the whole text follows. */
  reset(): void
}

export class GrowingText {
  readonly #sink: TextSink
  #shown = ''
  #attempt = ''

  constructor(sink: TextSink) {
    this.#sink = sink
  }

  beginAttempt(): void {
    this.#attempt = ''
  }

  add(delta: string): void {
    this.#attempt += delta
    this.#show()
  }

  /** Takes the whole text of the stored reply. */
  complete(content: string): void {
    this.#attempt = content
    // An earlier attempt may have produced more text than the stored reply has.
    if (!content.startsWith(this.#shown)) this.#restart()
    this.#show()
  }

  #show(): void {
    if (this.#shown.startsWith(this.#attempt)) return
    if (!this.#attempt.startsWith(this.#shown)) this.#restart()
    this.#sink.piece(this.#attempt.slice(this.#shown.length))
    this.#shown = this.#attempt
  }

  #restart(): void {
    this.#sink.reset()
    this.#shown = ''
  }
}
