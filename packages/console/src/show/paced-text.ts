/**
 * Gathers the pieces of a reply and shows them at a pace the page can draw. A browser reads Markdown anew each time, and the longer the text the longer
 * it takes; so the pause grows with the text, and typing, scrolling and stopping stay quick beside a reply of any length.
 */
export type PacedText = { add(piece: string): void; /** Everything so far; nothing is shown from then on. */ end(): string }

// A twentieth of a second is seen as flowing; half a second as still coming. Between them a millisecond for each hundred characters, some times what drawing takes.
const minMs = 50
const maxMs = 500
const pauseMs = (length: number): number => Math.min(maxMs, minMs + length / 100)

/** `show` gets the whole text so far: the first piece at once, the next ones together. */
export function pacedText(show: (text: string) => void): PacedText {
  let text = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    add(piece) {
      const first = text === ''
      text += piece
      if (first) return show(text)
      timer ??= setTimeout(() => {
        timer = undefined
        show(text)
      }, pauseMs(text.length))
    },
    end() {
      clearTimeout(timer)
      return text
    },
  }
}
