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
  /** The white space that the answer starts with. It is only added to and never read, because it can arrive in a million pieces. */
  #space = ''
  /** The end of what has arrived, as far as it can be the start of a tag. */
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
        return this.#lookForOpening(piece)
      case 'inside':
        return this.#lookForClosing(this.#kept + piece)
      case 'after':
        return this.#skipSpace(piece)
    }
  }

  /** Ends the answer. An incomplete opening tag is text after all; a block that was never closed has no answer after it. */
  end(): void {
    const held = this.#space + this.#kept
    if (this.#state === 'before' && held !== '') this.#onText(held)
    this.#space = this.#kept = ''
  }

  #lookForOpening(piece: string): void {
    // What is kept starts with `<`, so only the first piece with another character than white space is cut.
    const start = this.#kept === '' ? piece.trimStart() : this.#kept + piece
    if (this.#kept === '') this.#space += piece.slice(0, piece.length - start.length)
    if (start.startsWith(opening)) {
      this.#state = 'inside'
      this.#space = this.#kept = ''
      this.#lookForClosing(start.slice(opening.length))
    } else if (opening.startsWith(start)) {
      this.#kept = start
    } else {
      this.#state = 'through'
      const held = this.#space
      this.#space = this.#kept = ''
      this.#onText(held + start)
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
