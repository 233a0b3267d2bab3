/**
 * Formats API responses for a terminal: rows with column headings, or one object with a line per field. Columns are aligned by display
 * width, which differs from the length of a string. Control characters never reach the terminal.
 */
import widthOf from 'string-width'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import type { CommandRun, Output } from '../command-run.ts'
import { styled } from './style.ts'

/**
 * `path` is a field name, with dots for nested fields. `usd`, `number` and `ms` are right-aligned; `short` is the start of a text on one
 * line. An `id` is never shortened.
 */
export type Column = { title: string; path: string; as?: 'text' | 'id' | 'short' | 'time' | 'usd' | 'number' | 'ms' }

const gap = '  '
// A text is not shortened to less. With more columns than fit, each row has several lines instead.
const minTextWidth = 12

/**
 * The width of the terminal, or undefined if stdout is not a terminal: programs that read a table get every cell complete. A terminal that
 * does not know its size reports 0 columns.
 */
export const terminalWidth = ({ stdout }: { stdout: Pick<Output, 'isTTY' | 'columns'> }): number | undefined =>
  stdout.isTTY ? stdout.columns || undefined : undefined

/** A table for stdout: as wide as its terminal, with bold headings there. */
export const tableFor = (run: CommandRun, columns: Column[]): Table =>
  new Table(columns, terminalWidth(run), (title) => styled(run, 'bold', title))

/**
 * Formats rows in batches. The column widths are those of the first batch and only grow.
 *
 * If the rows are wider than `maxWidth`, texts are shortened. If that is not enough, each row and the headings continue on further lines,
 * which are indented.
 */
export class Table {
  readonly #columns: Column[]
  readonly #maxWidth: number
  readonly #style: (headings: string) => string
  #widths: number[] | undefined
  #places: number[]

  constructor(columns: Column[], maxWidth = Infinity, style = (headings: string): string => headings) {
    this.#columns = columns
    this.#maxWidth = maxWidth
    this.#style = style
    this.#places = columns.map(() => 0)
  }

  /** Returns the lines of these rows. The first call also returns the lines of headings. */
  lines(rows: Fields[]): string[] {
    const cells = rows.map((row) => this.#columns.map((column) => cellOf(row, column)))
    this.#alignPoints(cells)
    const titles = this.#columns.map(({ title }) => title)
    const first = this.#widths === undefined
    const full = titles.map((title, index) =>
      Math.max(this.#widths?.[index] ?? widthOf(title), ...cells.map((row) => widthOf(row[index]!))),
    )
    this.#widths = this.#fit(full, this.#widths)
    return [...(first ? this.#row(titles).map(this.#style) : []), ...cells.flatMap((row) => this.#row(row))]
  }

  /** Shortens the widest texts until the row fits, but none of them below `minTextWidth`. Later batches keep the widths of the first. */
  #fit(widths: number[], before: number[] | undefined): number[] {
    if (totalOf(widths) <= this.#maxWidth) return widths
    if (before) return widths.map((width, index) => (isText(this.#columns[index]!) ? before[index]! : width))
    const fitted = [...widths]
    const canShrink = (index: number): boolean => isText(this.#columns[index]!) && fitted[index]! > minTextWidth
    for (let over = totalOf(fitted) - this.#maxWidth; over > 0;) {
      const widest = fitted.reduce((best, width, index) => (canShrink(index) && width > (fitted[best] ?? 0) ? index : best), -1)
      // Not even the shortest texts fit in one line. With several lines, a text is only shortened if it is wider than a line.
      if (widest === -1)
        return widths.map((width, index) =>
          isText(this.#columns[index]!) ? Math.min(width, Math.max(1, this.#maxWidth - gap.length)) : width,
        )
      const next = Math.max(minTextWidth, ...fitted.filter((width, index) => canShrink(index) && width < fitted[widest]!))
      const cut = Math.min(over, Math.max(1, fitted[widest]! - next))
      fitted[widest]! -= cut
      over -= cut
    }
    return fitted
  }

  /** Pads the amounts of a column with spaces so that the decimal points line up. */
  #alignPoints(cells: string[][]): void {
    for (const [index, { as }] of this.#columns.entries()) {
      if (as !== 'usd') continue
      this.#places[index] = Math.max(this.#places[index]!, ...cells.map((row) => placesOf(row[index]!)))
      for (const row of cells) row[index] += ' '.repeat(this.#places[index]! - placesOf(row[index]!))
    }
  }

  #row(cells: string[]): string[] {
    const padded = cells.map((cell, index) => {
      const width = this.#widths![index]!
      const cut = cutTo(cell, width)
      const space = ' '.repeat(width - widthOf(cut))
      return isRight(this.#columns[index]!) ? space + cut : cut + space
    })
    const lines: string[] = []
    for (const cell of padded) {
      const longer = lines.length === 0 ? undefined : `${lines.at(-1)}${gap}${cell}`
      if (longer !== undefined && widthOf(longer) <= this.#maxWidth) lines[lines.length - 1] = longer
      else lines.push(`${lines.length === 0 ? '' : gap}${cell}`)
    }
    return lines.map((line) => line.trimEnd())
  }
}

const totalOf = (widths: number[]): number => widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1)

/** Cuts a text to a display width. The last character of a text that was cut is an ellipsis. */
function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let cut = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(cut + segment) > width - 1) break
    cut += segment
  }
  return `${cut}…`
}

/** Formats one object, one line per field. Nested fields have dotted names, and further lines of a text are indented. */
export function recordLines(fields: Fields): string[] {
  const flat = flatten(fields)
  const width = Math.max(...flat.map(([name]) => name.length))
  return flat.map(([name, value]) => {
    const [firstLine = '', ...rest] = shown(value, 'text', true).split('\n')
    return [`${name.padEnd(width)}${gap}${firstLine}`.trimEnd(), ...rest.map((line) => ' '.repeat(width + gap.length) + line)].join('\n')
  })
}

// The flags of England, Scotland and Wales: a black flag followed by the invisible letters of a region.
const flag = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/u.source
const unseen = new RegExp(`${flag}|\\p{Cc}|\\p{Cf}|\\p{Cs}|\\p{Zl}|\\p{Zp}`, 'gu')

/** Makes untrusted text safe for a terminal: characters that would move the cursor or hide text are escaped. */
export function escapeForTerminal(text: string, keepNewlines = false): string {
  return text.replace(unseen, (found) => {
    if (found === '\n' && keepNewlines) return found
    // These separate or join letters (in Persian, for example) or the parts of an emoji. On their own they are invisible and harmless.
    if (found === '\u{200c}' || found === '\u{200d}' || found.startsWith('\u{1f3f4}')) return found
    return `\\u{${found.codePointAt(0)!.toString(16)}}`
  })
}

/** Returns the start of a text on one line, at most `max` characters, for a table cell. */
export function shortened(text: unknown, max = 60): string {
  const line = String(text).replace(/\s+/g, ' ').trim()
  const characters = [...line]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line
}

const placesOf = (cell: string): number => (cell.includes('.') ? cell.length - cell.indexOf('.') : 0)
const isText = ({ as = 'text' }: Column): boolean => as === 'text' || as === 'short'
const isRight = ({ as }: Column): boolean => as === 'usd' || as === 'number' || as === 'ms'

const cellOf = (row: Fields, { path, as = 'text' }: Column): string => shown(fieldAt(row, path), as)

function fieldAt(fields: Fields, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (isFields(value) ? value[name] : undefined), fields)
}

function shown(value: unknown, as: NonNullable<Column['as']>, keepNewlines = false): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (as === 'time')
    return String(value)
      .replace('T', ' ')
      .replace(/(\.\d+)?Z$/, '')
  if (as === 'usd') return String(value).replace(/(\.\d\d\d*?)0+$/, '$1')
  if (as === 'number') return Number(value).toLocaleString('en-US')
  if (as === 'ms') return `${Number(value).toLocaleString('en-US')} ms`
  if (as === 'short') return escapeForTerminal(shortened(Array.isArray(value) ? value.join(', ') : value))
  if (Array.isArray(value) && !value.some((one) => typeof one === 'object'))
    return value.length === 0 ? 'none' : escapeForTerminal(value.join(', '))
  return escapeForTerminal(typeof value === 'object' ? JSON.stringify(value) : String(value), keepNewlines)
}

function flatten(fields: Fields, prefix = ''): [string, unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    // The JSON schema of a list item stays JSON: its readers are used to that.
    if (isFields(value) && !(name === 'parameters' && prefix !== '')) return flatten(value, `${prefix}${name}.`)
    if (Array.isArray(value) && value.length > 0 && value.every(isFields))
      return value.flatMap((item, index) => flatten(item, `${prefix}${name}.${index + 1}.`))
    return [[`${prefix}${name}`, value]]
  })
}
