/** The word that was probably meant instead of an unknown setting or field. */

// No known word is longer, and the comparison takes time and memory in proportion to the length.
const maxLength = 200

/**
 * Returns the most similar of the words, ignoring case, or undefined if none is similar enough: by default one edit is allowed, and up to a third of
 * the letters.
 */
export function nearestWord(word: string, words: string[], maxEdits?: number): string | undefined {
  if (word.length > maxLength) return undefined
  const fold = (text: string): string => text.toLowerCase().replaceAll(/[-\s]/g, '_')
  const [nearest] = words.map((known) => ({ known, far: distance(fold(word), fold(known)) })).toSorted((a, b) => a.far - b.far)
  return nearest && nearest.far <= (maxEdits ?? Math.max(1, Math.floor(nearest.known.length / 3))) ? nearest.known : undefined
}

/** The Levenshtein distance, in which two swapped neighbors count as one edit. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same)
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) least = Math.min(least, rows[i - 2]![j - 2]! + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows.at(-1)!.at(-1)!
}
