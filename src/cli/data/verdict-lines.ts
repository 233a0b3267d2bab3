/** The text of a verdict, which `verify` and `backup` print: one line for the invariant, and below it the rows that violate it. */
import { invariants, maxRows } from '../../store/queries/invariants.ts'
import type { Verdict } from '../../store/queries/invariants.ts'
import type { Row } from '../../store/sql.ts'

const nameWidth = Math.max(...invariants.map(({ name }) => name.length))

export function verdictLines({ id, name, sentence, rows }: Verdict): string[] {
  return [
    `${rows.length === 0 ? 'ok    ' : 'BROKEN'}  ${id.padEnd(3)}  ${name.padEnd(nameWidth)}  ${sentence}`,
    ...rows.map((row) => `        ${JSON.stringify(plainRow(row))}`),
    ...(rows.length === maxRows ? [`        only the first ${maxRows} rows are shown`] : []),
  ]
}

/** Amounts can exceed the range in which JSON numbers are exact, so every integer becomes a decimal string. */
export function plainRow(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]))
}
