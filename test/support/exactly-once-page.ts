/** docs/exactly-once.md as data: its tables by their heads, and its list of tests. Judges nothing, and runs no test. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type ListedTest = { number: number; file: string; words: string[] }

type ExactlyOncePage = {
  text: string
  /** Each line of each table: what stands under which head. */
  lines: Record<string, string>[]
  tests: ListedTest[]
}

export function readExactlyOncePage(): ExactlyOncePage {
  const text = readFileSync(join(import.meta.dirname, '../../docs/exactly-once.md'), 'utf8')
  return { text, lines: tablesOf(text).flatMap(linesOf), tests: [...text.matchAll(/^(\d+)\. `(\S+)`: (".+")$/gm)].map(listed) }
}

/** Of a cell: `7, 8`, or nothing. */
export const numbersIn = (cell: string | undefined): number[] => (cell?.match(/\d+/g) ?? []).map(Number)

const tablesOf = (text: string): string[][] => (text.match(/(?:^\|.*\|\n)+/gm) ?? []).map((table) => table.trimEnd().split('\n'))

function linesOf([head = '', , ...rows]: string[]): Record<string, string>[] {
  const names = cellsOf(head)
  return rows.map((row) => Object.fromEntries(cellsOf(row).map((cell, index) => [names[index] ?? `beyond ${index}`, cell])))
}

const cellsOf = (row: string): string[] =>
  row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

const listed = ([, number, file, words]: string[]): ListedTest => ({
  number: Number(number),
  file: file!,
  words: words!.slice(1, -1).split('" · "'),
})
