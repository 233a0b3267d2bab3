/**
 * Collects the pieces of a reply and shows them at a rate that the page can draw. A browser parses Markdown from the start each time, which
 * takes longer for longer texts. So the interval grows with the text, and typing, scrolling and stopping stay responsive next to a reply of
 * any length.
 */
export type PacedText = {
  add(piece: string): void
  /** Discards the text so far. */ restart(): void
  /** Everything so far; nothing is shown from then on. */ end(): string
}

// A twentieth of a second looks continuous; half a second still looks active. In between, one millisecond per hundred characters, several
// times what drawing takes.
const minMs = 50
const maxMs = 500
const pauseMs = (length: number): number => Math.min(maxMs, minMs + length / 100)

/** `show` receives the whole text so far: the first piece immediately, the next ones together. */
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
    restart() {
      clearTimeout(timer)
      timer = undefined
      text = ''
      show(text)
    },
    end() {
      clearTimeout(timer)
      return text
    },
  }
}
