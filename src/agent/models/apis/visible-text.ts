/**
 * Passes on the part of an answer's text that its reader may see (`tools.private`). Servers without a parser put reasoning and tool calls
 * into the text. A block of reasoning at the start is removed, in any notation. Text that only mentions the marks stays whole.
 *
 * A block may have no opening mark, because the chat template of the model contains it. Its text may have been passed on when the closing
 * mark arrives. Then `onReset` takes it back (docs/decisions/0046-reading-model-servers.md).
 */
import {
  blockAt,
  frameAt,
  hasSpecial,
  loneClosing,
  mayBeMark,
  mayBeStart,
  mayReadAsReasoning,
  readsAsReasoning,
  special,
  startsMark,
} from './reasoning-marks.ts'
import type { Block } from './reasoning-marks.ts'

export type VisibleTextOptions = {
  onText: (text: string) => void
  /** All text that was passed on is reasoning. */
  onReset: () => void
  /** Whether the text is held until a closing mark or the end, because this model writes one that nothing opened. */
  holds: boolean
  /** Reads what is between `<tool_call>` marks. Returns false unless it calls a tool that was offered. Undefined if none was. */
  onCall?: ((written: string) => boolean) | undefined
}

// Reasoning that is longer is taken back when its end arrives.
const maxHeldByPhrase = 16 * 1024
// The longest mark, in characters.
const maxMark = 160
// Of an answer. Each one costs a search for its end.
const maxEmbeddedCalls = 128
const toolCall = { opening: '<tool_call>', closing: /<\/tool_call>/g }

type State = 'start' | 'block' | 'text' | 'later' | 'call'

export class VisibleText {
  readonly #options: VisibleTextOptions
  #state: State = 'start'
  /** White space at the start of the text. It is only added to and never read, because it can arrive in a million pieces. */
  #space = ''
  /** What has arrived and is not decided. */
  #kept = ''
  /** Of `kept`: up to here there is no closing mark. */
  #searched = 0
  #block: Block | undefined
  #depth = 0
  /** The text after a closing mark in a block that is still open: the answer, if the block does not close again. */
  #perhaps: string | undefined
  #shown = ''
  /** Text that is visible and has not been passed on. */
  #out = ''
  /** Whether it waits for a closing mark. */
  #held: boolean
  #hasPassed = false
  #maxHeld = Infinity
  #hadBlock = false
  #hasChannels = false
  /** The text is about the marks. */
  #mentions = false
  #calls = 0
  #fences = { upTo: 0, isOpen: false }
  /** A closing mark has ended a block that no mark had opened. */
  closedAlone = false

  constructor(options: VisibleTextOptions) {
    this.#options = options
    this.#held = options.holds
  }

  push(piece: string): void {
    if (this.#kept === '' && this.#state === 'text' && !hasSpecial(piece)) {
      // Most pieces, so no more than necessary is done for them.
      if (this.#held) this.#emit(piece)
      else {
        this.#shown += piece
        this.#hasPassed = true
        return this.#options.onText(piece)
      }
    } else if (this.#kept === '' && this.#state === 'start') this.#pushStart(piece)
    else {
      this.#kept += piece
      this.#read(false)
    }
    this.#pass()
  }

  /** What is visible so far, passed on or held. */
  get text(): string {
    return this.#shown
  }

  /** Ends the answer. What is undecided is text, except for a block that was never closed. */
  end(): void {
    this.#read(true)
    if (this.#state === 'start' && !this.#hadBlock) this.#emit(this.#space)
    if (this.#state === 'block' && this.#perhaps !== undefined) this.#emit((this.#perhaps + this.#kept).trimStart())
    if (this.#state === 'later' || (this.#state === 'call' && !this.#endCall(this.#kept.slice(toolCall.opening.length))))
      this.#emit(this.#kept)
    this.#held = false
    this.#kept = this.#space = ''
    this.#pass()
  }

  #pushStart(piece: string): void {
    const text = piece.trimStart()
    if (!this.#hadBlock) this.#space += piece.slice(0, piece.length - text.length)
    this.#kept = text
    this.#read(false)
  }

  #read(isEnd: boolean): void {
    while (this.#kept !== '' && this.#readNext(isEnd));
  }

  #readNext(isEnd: boolean): boolean {
    const state = this.#state
    if (state === 'start') return this.#readStart(isEnd)
    if (state === 'block') return this.#readBlock()
    if (state === 'text') return this.#readText(isEnd)
    return state === 'later' ? this.#readLater() : this.#readCall()
  }

  /** Each of these reads from what is kept, and returns whether there may be more to read. */
  #readStart(isEnd: boolean): boolean {
    if (startsMark(this.#kept)) {
      if (!isEnd && mayBeStart(this.#kept)) return false
      const frame = frameAt(this.#kept)
      if (frame > 0) {
        this.#hasChannels = this.#hadBlock = true
        this.#kept = this.#kept.slice(frame).trimStart()
        return true
      }
      const block = blockAt(this.#kept, 0)
      if (block) return this.#openBlock(block)
    }
    if (!this.#hadBlock && !this.#held && !isEnd) {
      if (readsAsReasoning(this.#kept)) {
        this.#held = true
        this.#maxHeld = maxHeldByPhrase
      } else if (mayReadAsReasoning(this.#kept)) return false
    }
    this.#state = 'text'
    this.#emit(this.#space)
    this.#space = ''
    return true
  }

  #openBlock(block: Block): boolean {
    this.#block = block
    this.#depth = 1
    this.#perhaps = undefined
    this.#space = ''
    this.#hadBlock = true
    this.#hasChannels ||= block.isChannel
    this.#kept = this.#kept.slice(block.length)
    this.#state = 'block'
    return true
  }

  /** Keeps only as many characters as can be the start of a mark. */
  #readBlock(): boolean {
    const { mark } = this.#block!
    mark.lastIndex = 0
    const found = mark.exec(this.#kept)
    const end = found ? found.index : Math.max(0, this.#kept.length - maxMark)
    if (this.#perhaps !== undefined) this.#perhaps += this.#kept.slice(0, end)
    if (!found) {
      this.#kept = this.#kept.slice(end)
      return false
    }
    this.#kept = this.#kept.slice(end + found[0].length)
    if (found[1] === undefined) this.#depth++
    else if (--this.#depth > 0) this.#perhaps = ''
    else {
      this.#state = 'start'
      this.#kept = this.#kept.trimStart()
    }
    return true
  }

  #readText(isEnd: boolean): boolean {
    const at = this.#kept.search(special)
    if (at < 0) return this.#show(this.#kept.length)
    if (at > 0) this.#show(at)
    const text = this.#kept.slice(0, maxMark)
    if (text.startsWith(toolCall.opening) && this.#options.onCall && this.#calls < maxEmbeddedCalls && !this.#isInCode()) {
      this.#calls++
      this.#state = 'call'
      return true
    }
    const closing = loneClosing.exec(text)?.[0].length ?? 0
    if (closing > 0 && closing === text.length && !isEnd) return false
    if (closing > 0) return this.#isLone(text.charAt(closing)) ? this.#closeLone(closing) : this.#show(closing)
    if (this.#hasChannels && frameAt(text) > 0) {
      this.#kept = this.#kept.slice(frameAt(text))
      return true
    }
    const block = blockAt(text, 0)
    if (block && this.#hadBlock && (this.#hasChannels || /(^|\n)[ \t]*$/.test(this.#shown.slice(-80))) && !this.#isInCode()) {
      this.#block = block
      this.#state = 'later'
      this.#searched = block.length
      return true
    }
    if (block) this.#mentions = true
    if (!block && !isEnd && mayBeMark(text)) return false
    return this.#show(block?.length ?? 1)
  }

  /** A block in the text, of a model that has written one at the start: removed if it closes. */
  #readLater(): boolean {
    return this.#findEnd(this.#block!.closing, (_, end) => {
      this.#kept = this.#kept.slice(end)
    })
  }

  #readCall(): boolean {
    return this.#findEnd(toolCall.closing, (start, end) => {
      if (this.#endCall(this.#kept.slice(toolCall.opening.length, start))) this.#kept = this.#kept.slice(end)
      else this.#show(end)
    })
  }

  #findEnd(closing: RegExp, read: (start: number, end: number) => void): boolean {
    closing.lastIndex = this.#searched
    const found = closing.exec(this.#kept)
    this.#searched = found ? 0 : Math.max(0, this.#kept.length - maxMark)
    if (!found) return false
    this.#state = 'text'
    read(found.index, found.index + found[0].length)
    return true
  }

  #endCall(written: string): boolean {
    return this.#options.onCall?.(written) ?? false
  }

  /** Whether a closing mark ends reasoning, and is not mentioned by the answer. `next` is the character after it, if there is one. */
  #isLone(next: string): boolean {
    const before = this.#shown.slice(-40)
    const isQuoted = /["'“”‘«(*]$/.test(before)
    const isInSentence = /[\p{L}\p{N},;:] +$/u.test(before) && next !== '\n' && next !== '\r'
    this.#mentions ||= isQuoted || isInSentence || this.#isInCode()
    return !this.#mentions
  }

  #closeLone(length: number): boolean {
    this.#kept = this.#kept.slice(length).trimStart()
    this.closedAlone = this.#hadBlock = true
    if (this.#hasPassed) this.#options.onReset()
    this.#held = this.#hasPassed = false
    this.#out = this.#shown = ''
    this.#fences = { upTo: 0, isOpen: false }
    this.#state = 'start'
    return true
  }

  #isInCode(): boolean {
    const start = this.#shown.lastIndexOf('\n') + 1
    for (const _ of this.#shown.slice(this.#fences.upTo, start).matchAll(/^ {0,3}(?:```|~~~)/gm)) this.#fences.isOpen = !this.#fences.isOpen
    this.#fences.upTo = start
    return this.#fences.isOpen || this.#shown.slice(start).split('`').length % 2 === 0
  }

  #show(length: number): boolean {
    const text = this.#kept.slice(0, length)
    this.#kept = this.#kept.slice(length)
    this.#emit(text)
    return true
  }

  #emit(text: string): void {
    if (text === '') return
    this.#shown += text
    this.#out += text
  }

  #pass(): void {
    if (this.#held && this.#out.length > this.#maxHeld) this.#held = false
    if (this.#held || this.#out === '') return
    const text = this.#out
    this.#out = ''
    this.#hasPassed = true
    this.#options.onText(text)
  }
}
