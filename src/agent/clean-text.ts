/**
 * Cleans text from models and tools before it is sent or stored (`text.well-formed`): removes U+0000 and replaces each lone surrogate with
 * U+FFFD. The deltas of a reply therefore add up to the stored text, and no store changes or rejects it.
 */

/** Cleans a complete text. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

/** Cleans text that arrives in pieces. The outputs add up to `cleanText` of the whole text, wherever it was split. */
export class TextCleaner {
  /** The first half of a surrogate pair whose second half may arrive with the next piece. */
  #half = ''

  /** Returns the cleaned text that can be sent now; possibly empty. */
  push(piece: string): string {
    if (this.#half === '' && piece.isWellFormed() && !piece.includes('\0')) return piece
    const text = this.#half + piece.replaceAll('\0', '')
    const whole = endsInHalf(text) ? text.slice(0, -1) : text
    this.#half = text.slice(whole.length)
    return whole.toWellFormed()
  }

  /** Returns the text that was held back, and resets the cleaner for another text. */
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
