/** Writes text to stdout as it arrives: wrapped and safe on a terminal, unchanged in a pipe or a file. Ends with a line break. */
import { WordWrap } from './word-wrap.ts'
import type { CommandRun } from '../command-run.ts'

/** `pause` allows other output on a terminal; the text continues below it. `end` completes the last line, and another text may follow. */
export type LiveText = { piece(text: string): void; pause(): void; end(): void }

export function openLiveText({ stdout }: CommandRun): LiveText {
  if (stdout.isTTY) {
    const wrap = new WordWrap(
      () => stdout.columns || 80,
      (text) => stdout.write(text),
    )
    return { piece: (text) => wrap.push(text), pause: () => wrap.pause(), end: () => wrap.end() }
  }
  let isOpen = false
  return {
    piece(text) {
      stdout.write(text)
      isOpen = !text.endsWith('\n')
    },
    pause: () => undefined,
    end() {
      if (isOpen) stdout.write('\n')
      isOpen = false
    },
  }
}
