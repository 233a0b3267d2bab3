/**
 * Wraps streamed text at word boundaries and makes it safe for the terminal (`readable`). Keeps line breaks, and splits words that are
 * longer than a line.
 */
import widthOf from 'string-width'
import { readable } from './chat-words.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
// An incomplete end of a chunk that the next chunk may complete: half of a line break, of a character or of a flag.
const unfinished = /(\r|(\u{1f3f4}[\u{e0030}-\u{e007a}]{0,6})?[\ud800-\udbff]?)$/u

export class WordWrap {
  readonly #width: () => number
  readonly #write: (text: string) => void
  #column = 0
  #gap = ''
  #unfinished = ''
  /** A word whose end has not arrived yet. */
  #held = ''

  /** @param width returns the width of the terminal in columns. It is called for every word, because the terminal can be resized. */
  constructor(width: () => number, write: (text: string) => void) {
    this.#width = width
    this.#write = write
  }

  push(piece: string): void {
    const text = this.#unfinished + piece
    this.#unfinished = unfinished.exec(text)![0]
    this.#take(readable(text.slice(0, text.length - this.#unfinished.length)))
  }

  #take(text: string): void {
    const words = (this.#held + text).match(/\n|[^\S\n]+|\S+/gu) ?? []
    const last = words.at(-1)
    // Chinese has no spaces, so a "word" would be a whole sentence. Only its last character can still change.
    const [whole, open] = last === undefined || last === '\n' ? ['', ''] : isWide(last) ? splitLast(last) : ['', last]
    for (const word of last === '\n' ? words : [...words.slice(0, -1), whole]) this.#place(word)
    this.#held = open
  }

  /** Writes the rest of the text and ends the line. */
  end(): void {
    this.#take(readable(this.#unfinished))
    this.#unfinished = ''
    this.#place(this.#held)
    this.#held = ''
    this.#gap = ''
    if (this.#column > 0) this.#write('\n')
    this.#column = 0
  }

  /** Breaks the line, so that other output can be written. The text continues below it. */
  pause(): void {
    if (this.#column > 0) this.#breakLine()
  }

  #place(word: string): void {
    if (word === '') return
    if (word === '\n') return this.#breakLine()
    if (word.trim() === '') {
      this.#gap += word
      return
    }
    if (isWide(word)) for (const { segment } of graphemes.segment(word)) this.#set(segment, widthOf(segment))
    else this.#set(word, widthOf(word))
  }

  #set(word: string, width: number): void {
    const room = this.#width()
    if (this.#column > 0 && this.#column + this.#gap.length + width > room) this.#breakLine()
    this.#write(this.#gap)
    this.#column += this.#gap.length
    this.#gap = ''
    if (this.#column + width <= room) {
      this.#write(word)
      this.#column += width
      return
    }
    for (const { segment } of graphemes.segment(word)) {
      if (this.#column > 0 && this.#column + widthOf(segment) > room) this.#breakLine()
      this.#write(segment)
      this.#column += widthOf(segment)
    }
  }

  #breakLine(): void {
    this.#write('\n')
    this.#column = 0
    this.#gap = ''
  }
}

const isWide = (word: string): boolean => widthOf(word) > [...graphemes.segment(word)].length

function splitLast(word: string): [string, string] {
  const last = [...graphemes.segment(word)].at(-1)!.segment
  return [word.slice(0, -last.length), last]
}
