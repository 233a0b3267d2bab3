/**
 * One reply as a reader sees it grow over several attempts: no piece twice. Where an attempt says something else than was shown, all of it is shown
 * anew. Knows nothing of terminals.
 */

export type TextSink = {
  piece(text: string): void
  /** What was shown is void; pieces from the beginning follow. */
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

  /** The whole text, as it is stored. */
  complete(content: string): void {
    this.#attempt = content
    // What was shown may be longer than what is stored, where the attempt before had got further.
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
