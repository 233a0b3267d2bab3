/**
 * Cuts a text into the pieces that become events. Where a piece ends depends only on the text, not on the pieces in which a model or another
 * process sent it, so that the events of a response have the same numbers in every stream of it (`openai.resume`). Pure.
 */

// A piece is about a word at first, and becomes longer with the text, so that the longest reply has some ten thousand pieces.
const charactersPerLength = 1024
// Text without spaces is cut after this many more.
const maxMore = 32

/** The end of the piece that starts at `start`; undefined if that depends on text that is not there yet. `offset`: where `text` starts. */
function pieceEnd(text: string, start: number, offset: number, isWhole: boolean): number | undefined {
  const min = start + Math.max(1, Math.floor((offset + start) / charactersPerLength))
  for (let end = min; end <= text.length; end++) {
    const before = text.charCodeAt(end - 1)
    if (isHighSurrogate(before)) continue
    if (end >= min + maxMore || isBoundary(before, text.charCodeAt(end))) return end
  }
  return isWhole && text.length > start ? text.length : undefined
}

/** Between a word and what follows it, or after a character that is neither part of a word nor white space. `next` is NaN at the end. */
function isBoundary(before: number, next: number): boolean {
  if (isSpace(before)) return false
  return !isOfWord(before) || (!Number.isNaN(next) && !isOfWord(next))
}

const isSpace = (code: number): boolean => code <= 0x20
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
/** Letters and digits of scripts that write words with spaces between them. */
const isOfWord = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || (code >= 0xc0 && code < 0x2000)

type Cut = { pieces: string[]; end: number }

/** All pieces of `text` from `start` on whose ends are known. `offset`: where `text` starts in the whole text. */
export function cutPieces(text: string, start: number, offset: number, isWhole: boolean): Cut {
  const pieces: string[] = []
  let at = start
  for (let end = pieceEnd(text, at, offset, isWhole); end !== undefined; end = pieceEnd(text, at, offset, isWhole)) {
    pieces.push(text.slice(at, end))
    at = end
    if (at === text.length) break
  }
  return { pieces, end: at }
}
