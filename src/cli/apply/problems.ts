/** Collects the problems of a declaration with their positions, so that the user sees all of them at once. */
import { CommandFailed } from '../terminal/command-failed.ts'
import { visible } from '../terminal/table.ts'

/** Line and column count from 1. */
export type Place = { file: string; line: number; column: number }

export class Problems {
  readonly #problems: { place: Place; message: string }[] = []

  add(place: Place, message: string): undefined {
    this.#problems.push({ place, message })
  }

  /** Throws CommandFailed with this code and one line per problem, if there are problems. */
  refuse(exitCode: 1 | 2): void {
    if (this.#problems.length === 0) return
    const files = [...new Set(this.#problems.map(({ place }) => place.file))]
    const lines = this.#problems
      .toSorted(({ place: a }, { place: b }) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
      .map(({ place: { file, line, column }, message }) => visible(`${file}:${line}:${column}: ${message}`))
    throw new CommandFailed(exitCode, `nothing was applied:\n${[...new Set(lines)].join('\n')}`)
  }
}

/** Returns the word that was probably meant, or undefined if none is similar. */
export function nearestWord(word: string, words: string[]): string | undefined {
  const folded = word.toLowerCase().replaceAll(/[-\s]/g, '_')
  const [nearest] = words.map((known) => ({ known, far: distance(folded, known) })).toSorted((a, b) => a.far - b.far)
  // One edit is always allowed, and up to a third of the letters.
  return nearest && nearest.far <= Math.max(1, Math.floor(nearest.known.length / 3)) ? nearest.known : undefined
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
