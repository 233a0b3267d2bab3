/** Lengths of texts in Unicode code points, without a copy of the text: a caller may send one of a megabyte where a name is expected. */

/** An unpaired surrogate counts as one. */
export function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if (!isHigh(text.charCodeAt(at)) || !isLow(text.charCodeAt(at + 1))) continue
    count--
    at++
  }
  return count
}

/** Reads nothing of a text that is too short or too long in any case. */
export const isLongerThan = (text: string, limit: number): boolean =>
  text.length > limit && (text.length > 2 * limit || codePoints(text) > limit)

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
