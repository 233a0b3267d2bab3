/** A finding as a Markdown table: labels first, then one figure per column as `median (min–max)`. Pure. */
import type { Finding, Row } from './scenario.ts'
import { headings } from './spread.ts'
import type { Spread } from './spread.ts'

/** Cells are empty if a row does not have the figure. */
export function tableOf(rows: Row[]): string {
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.labels)))]
  const present = new Set(rows.flatMap((row) => Object.keys(row.figures)))
  const common = Object.values<string>(headings).filter((heading) => present.has(heading))
  const figures = [...common, ...[...present].filter((heading) => !common.includes(heading))]
  const lines = rows.map((row) => [
    ...labels.map((label) => shown(row.labels[label])),
    ...figures.map((figure) => (row.figures[figure] ? writeSpread(row.figures[figure]) : '')),
  ])
  return markdown([...labels, ...figures], lines)
}

/** The table with the notes, or why there is no table. */
export function sectionOf({ rows, notes = [], notRun }: Finding): string {
  if (notRun !== undefined) return `Not run: ${notRun}.`
  return [tableOf(rows), ...notes.map((note) => `- ${note}`)].join('\n').replace(/\|\n- /, '|\n\n- ')
}

export function markdown(columns: string[], lines: string[][]): string {
  return [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** One round has no range. */
export function writeSpread({ median, min, max, rounds }: Spread): string {
  return rounds === 1 ? write(median) : `${write(median)} (${write(min)}–${write(max)})`
}

/** Three significant digits, and at most two after the decimal point. */
export function write(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size === 0 ? 2 : 3
  return value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits })
}

const shown = (label: string | number | undefined): string => (typeof label === 'number' ? label.toLocaleString('en-US') : (label ?? ''))
