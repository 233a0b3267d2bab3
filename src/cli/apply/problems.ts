/** Collects the problems of a declaration with their positions, so that the user sees all of them at once. */
import { CommandFailed } from '../terminal/command-failed.ts'
import { escapeForTerminal } from '../terminal/table.ts'

/** Line and column count from 1. */
export type Place = { file: string; line: number; column: number }

// A longer list is the result of one mistake, and no one reads it.
const maxLines = 100

export class Problems {
  readonly #problems: { place: Place; message: string }[] = []

  add(place: Place, message: string): undefined {
    this.#problems.push({ place, message })
  }

  /** Throws CommandFailed with one line per problem, if there are problems. */
  refuse(): void {
    if (this.#problems.length === 0) return
    const files = [...new Set(this.#problems.map(({ place }) => place.file))]
    const lines = this.#problems
      .toSorted(({ place: a }, { place: b }) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
      .map(({ place: { file, line, column }, message }) => escapeForTerminal(`${file}:${line}:${column}: ${message}`))
    const distinct = [...new Set(lines)]
    const more = distinct.length > maxLines ? [`and ${(distinct.length - maxLines).toLocaleString('en-US')} more problems`] : []
    throw new CommandFailed(2, `nothing was applied:\n${[...distinct.slice(0, maxLines), ...more].join('\n')}`)
  }
}
