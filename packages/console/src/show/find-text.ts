/** Where a text occurs, in upper or lower case: what the server's search finds. */

/** Null for an empty text. */
export const patternOf = (wanted: string): RegExp | null =>
  wanted === '' ? null : new RegExp(wanted.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`), 'giu')

export type Part = { text: string; isFound: boolean; at: number }

/** The text in order, divided at each occurrence. */
export function partsOf(text: string, wanted: string): Part[] {
  const pattern = patternOf(wanted)
  if (!pattern) return [{ text, isFound: false, at: 0 }]
  const parts: Part[] = []
  let end = 0
  for (const found of text.matchAll(pattern)) {
    if (found.index > end) parts.push({ text: text.slice(end, found.index), isFound: false, at: end })
    end = found.index + found[0].length
    parts.push({ text: found[0], isFound: true, at: found.index })
  }
  return end < text.length ? [...parts, { text: text.slice(end), isFound: false, at: end }] : parts
}
