/** Duplicate names in a JSON object: JSON.parse keeps the last one silently, another reader on the way might have kept the first. */

/** Whether the object's own level repeats a name. `text` is the JSON that `value` was parsed from. */
export function repeatsName(text: string, value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && countNames(text) > Object.keys(value).length
}

function countNames(text: string): number {
  let depth = 0
  let names = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (character === ':' && depth === 1) names++
  }
  return names
}

/** Where the string that begins at `start` has its closing quote: the next one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text[before] === '\\') before--
    if ((quote - before) % 2 === 1) return quote
  }
}
