/**
 * `text.well-formed` for what models and tools say: U+0000 is removed and a lone surrogate becomes U+FFFD, before anything leaves or is stored,
 * so that deltas add up to the content and no store merges two texts. Owns characters only; specification section 6. Pure.
 */

/** Cleans a whole text at once. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

/** Cleans a stream of pieces; what it answers adds up to `cleanText` of all pieces together, wherever they were cut. */
export class TextCleaner {
  /** The first half of a surrogate pair whose second half may come with the next piece. */
  #half = ''

  /** Answers what may leave now; may be empty. */
  push(piece: string): string {
    if (this.#half === '' && piece.isWellFormed() && !piece.includes('\0')) return piece
    const text = this.#half + piece.replaceAll('\0', '')
    const whole = endsInHalf(text) ? text.slice(0, -1) : text
    this.#half = text.slice(whole.length)
    return whole.toWellFormed()
  }

  /** Answers what was kept back; after it the cleaner is new again. */
  end(): string {
    const rest = this.#half.toWellFormed()
    this.#half = ''
    return rest
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
