/**
 * Text of a model or a person that comes in pieces, made `readable` and wrapped at words to a width as it comes. Its line breaks stay; a word longer
 * than a line is cut.
 */
import { widthOf } from '../terminal/table.ts'
import { readable } from './chat-words.ts'

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
// What the next piece may make another thing of: half of a line break, of a character, of a flag.
const unfinished = /(\r|(\u{1f3f4}[\u{e0030}-\u{e007a}]{0,6})?[\ud800-\udbff]?)$/u

export class WordWrap {
  readonly #width: () => number
  readonly #write: (text: string) => void
  #column = 0
  #gap = ''
  #unfinished = ''
  /** A word whose end has not come yet, with the blanks before it. */
  #held = ''

  /** `width` in columns of the terminal, asked at every word: it may be made wider meanwhile. */
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
    // Without blanks, as Chinese is written, a word would end with its sentence: its last character alone may still change.
    const [whole, open] = last === undefined || last === '\n' ? ['', ''] : isWide(last) ? splitLast(last) : ['', last]
    for (const word of last === '\n' ? words : [...words.slice(0, -1), whole]) this.#place(word)
    this.#held = open
  }

  /** The rest of what was held, and the line's end. */
  end(): void {
    this.#take(readable(this.#unfinished))
    this.#unfinished = ''
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
