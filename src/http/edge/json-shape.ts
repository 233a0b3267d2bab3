/**
 * Measures properties of a JSON text before JSON.parse runs: its nesting depth, the number of its values, and the number of names in all its
 * objects, counting repeated ones. Of two equal names JSON.parse silently keeps the last, while a proxy may have used the first.
 *
 * Depth and values decide what a body costs. Long texts, numbers and escapes are parsed about as fast as plain text, but every field and
 * element is a value of its own for JSON.parse and for all code that reads the body after it.
 */

// Far deeper than any body of this API. JSON.parse takes 0.1 s for a text of half a million brackets.
export const deepest = 64

const quote = 0x22
const backslash = 0x5c

/**
 * `values` is the number of fields and elements; an empty object or list counts as one more. The result is meaningless if the text is not
 * valid JSON. Stops at the first depth beyond `deepest` and at the first value beyond `maxValues`.
 */
export function shapeOf(text: string, maxValues = Infinity): { depth: number; names: number; values: number } {
  let level = 0
  let depth = 0
  let names = 0
  let values = 0
  for (let at = 0; at < text.length && depth <= deepest && values <= maxValues; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        at = endOfString(text, at)
        break
      case 0x2c: // ,
        values++
        break
      case 0x7b: // {
      case 0x5b: // [
        depth = Math.max(depth, ++level)
        values++
        break
      case 0x7d: // }
      case 0x5d: // ]
        level--
        break
      case 0x3a: // :
        names++
    }
  }
  return { depth, names, values }
}

/** The number of names in all objects of a parsed value: as many as in its text if no object repeats one. `depth` is that of its text. */
export function countNames(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  let names = Array.isArray(value) ? 0 : Object.keys(value).length
  // The values of a usual body need not be looked at.
  if (depth > 1) for (const inner of Object.values(value)) names += countNames(inner, depth - 1)
  return names
}

/** Returns the position of the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  const first = text.indexOf('"', start + 1)
  if (first === -1) return text.length
  if (text.charCodeAt(first - 1) !== backslash) return first
  // One look at each character: a search for each of half a million escaped quotes takes five times as long.
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === quote) return at
    if (character === backslash) at++
  }
  return text.length
}
