/**
 * Removes a leading `<think>…</think>` block from an answer: servers without a reasoning parser put the model's reasoning into the text,
 * and reasoning must not reach a stream or a reply (`tools.private`). A block that starts later in the text is part of the answer and
 * stays.
 */

const opening = '<think>'
const closing = '</think>'

export class ThinkBlock {
  readonly #onText: (text: string) => void
  #state: 'before' | 'inside' | 'after' | 'through' = 'before'
  #kept = ''

  /** `onText` gets the answer without the block, piece by piece. */
  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  push(piece: string): void {
    switch (this.#state) {
      case 'through':
        return this.#onText(piece)
      case 'before':
        return this.#lookForOpening(this.#kept + piece)
      case 'inside':
        return this.#lookForClosing(this.#kept + piece)
      case 'after':
        return this.#skipSpace(piece)
    }
  }

  /** Ends the answer. An incomplete opening tag is text after all; a block that was never closed has no answer after it. */
  end(): void {
    if (this.#state === 'before' && this.#kept !== '') this.#onText(this.#kept)
    this.#kept = ''
  }

  #lookForOpening(text: string): void {
    const start = text.trimStart()
    if (start.startsWith(opening)) {
      this.#state = 'inside'
      this.#lookForClosing(start.slice(opening.length))
    } else if (opening.startsWith(start)) {
      this.#kept = text
    } else {
      this.#state = 'through'
      this.#kept = ''
      this.#onText(text)
    }
  }

  /** Holds back only as many characters as can be the start of the closing tag. */
  #lookForClosing(text: string): void {
    const at = text.indexOf(closing)
    this.#kept = at < 0 ? text.slice(1 - closing.length) : ''
    if (at < 0) return
    this.#state = 'after'
    this.#skipSpace(text.slice(at + closing.length))
  }

  #skipSpace(text: string): void {
    const start = text.trimStart()
    if (start === '') return
    this.#state = 'through'
    this.#onText(start)
  }
}
