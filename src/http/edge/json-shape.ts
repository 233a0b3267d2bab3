/**
 * What JSON.parse does not tell about a text: how deep it is nested, and how many names its outermost object has, repeated ones counted.
 * JSON.parse keeps the last of two equal names silently, where another reader on the way might have kept the first.
 */

// Far beyond what any body of this API needs; half a million brackets take JSON.parse a tenth of a second.
export const deepest = 64

/** Also of a text that is no JSON, where it says nothing. Stops beyond `deepest`. */
export function shapeOf(text: string): { depth: number; names: number } {
  let level = 0
  let depth = 0
  let names = 0
  for (let at = 0; at < text.length && depth <= deepest; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '{' || character === '[') depth = Math.max(depth, ++level)
    else if (character === '}' || character === ']') level--
    else if (character === ':' && level === 1) names++
  }
  return { depth, names }
}

/** Where the string that begins at `start` has its closing quote: the next one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text[before] === '\\') before--
    if ((quote - before) % 2 === 1) return quote
  }
  return text.length
}
