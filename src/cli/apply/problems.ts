/** What is wrong with a declaration, each with its place in the file: gathered, so that a person mends all of it at once. Asks nobody. */
import { CommandFailed } from '../terminal/command-failed.ts'
import { visible } from '../terminal/table.ts'

/** Line and column count from 1. */
export type Place = { file: string; line: number; column: number }

export class Problems {
  readonly #told: { place: Place; message: string }[] = []

  add(place: Place, message: string): undefined {
    this.#told.push({ place, message })
  }

  /** Throws CommandFailed with this code, and a line for each, where there is one. */
  refuse(exitCode: 1 | 2): void {
    if (this.#told.length === 0) return
    const files = [...new Set(this.#told.map(({ place }) => place.file))]
    const lines = this.#told
      .toSorted(({ place: a }, { place: b }) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
      .map(({ place: { file, line, column }, message }) => visible(`${file}:${line}:${column}: ${message}`))
    throw new CommandFailed(exitCode, `nothing was applied:\n${[...new Set(lines)].join('\n')}`)
  }
}

/** The word of `words` that was probably meant; undefined where none is near. */
export function nearestWord(word: string, words: string[]): string | undefined {
  const folded = word.toLowerCase().replaceAll(/[-\s]/g, '_')
  const [nearest] = words.map((known) => ({ known, far: distance(folded, known) })).toSorted((a, b) => a.far - b.far)
  // A third of its letters may be wrong, and one always.
  return nearest && nearest.far <= Math.max(1, Math.floor(nearest.known.length / 3)) ? nearest.known : undefined
}

/** Levenshtein's, where two neighbours that changed places count once. */
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
