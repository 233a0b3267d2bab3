/** Text that comes in pieces, wrapped at words to a width as it comes. Line breaks of the text stay; a word longer than a line is cut. */
import { widthOf } from '../table.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

export class WordWrap {
  readonly #width: () => number
  readonly #write: (text: string) => void
  #column = 0
  #gap = ''
  /** A word whose end has not come yet, with the blanks before it. */
  #held = ''

  /** `width` in columns of the terminal, asked at every word: it may be made wider meanwhile. */
  constructor(width: () => number, write: (text: string) => void) {
    this.#width = width
    this.#write = write
  }

  push(text: string): void {
    const words = (this.#held + text).match(/\n|[^\S\n]+|\S+/gu) ?? []
    const last = words.at(-1)
    // Without blanks, as Chinese is written, a word would end with its sentence: its last character alone may still change.
    const [whole, open] = last === undefined || last === '\n' ? ['', ''] : isWide(last) ? splitLast(last) : ['', last]
    for (const word of last === '\n' ? words : [...words.slice(0, -1), whole]) this.#place(word)
    this.#held = open
  }

  /** The rest of what was held, and the line's end. */
  end(): void {
    this.#place(this.#held)
    this.#held = ''
    this.#gap = ''
    if (this.#column > 0) this.#write('\n')
    this.#column = 0
  }

  /** Something else is about to be shown on a line of its own; the text then goes on below it. */
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
