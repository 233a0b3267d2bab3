/**
 * Formats API responses for a terminal: rows with column headings, or one object with a line per field. Columns are aligned by display
 * width, which differs from the length of a string. Control characters never reach the terminal. Color is used only on a terminal and if
 * NO_COLOR is not set.
 */
import { styleText } from 'node:util'
import widthOf from 'string-width'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'

/**
 * `path` is a field name, with dots for nested fields. `usd`, `number` and `ms` are right-aligned; `short` is the start of a text on one
 * line.
 */
export type Column = { title: string; path: string; as?: 'text' | 'short' | 'time' | 'usd' | 'number' | 'ms' }

const gap = '  '

/** Formats rows in batches. The column widths are those of the first batch and only grow. */
export class Table {
  readonly #columns: Column[]
  #widths: number[] | undefined
  #places: number[]

  constructor(columns: Column[]) {
    this.#columns = columns
    this.#places = columns.map(() => 0)
  }

  /** Returns the lines of these rows. The first call also returns the line of headings. */
  lines(rows: Fields[]): string[] {
    const cells = rows.map((row) => this.#columns.map((column) => cellOf(row, column)))
    this.#alignPoints(cells)
    const titles = this.#columns.map(({ title }) => title)
    const first = this.#widths === undefined
    this.#widths = titles.map((title, index) =>
      Math.max(this.#widths?.[index] ?? widthOf(title), ...cells.map((row) => widthOf(row[index]!))),
    )
    return [...(first ? [bold(this.#line(titles))] : []), ...cells.map((row) => this.#line(row))]
  }

  /** Pads the amounts of a column with spaces so that the decimal points line up. */
  #alignPoints(cells: string[][]): void {
    for (const [index, { as }] of this.#columns.entries()) {
      if (as !== 'usd') continue
      this.#places[index] = Math.max(this.#places[index]!, ...cells.map((row) => placesOf(row[index]!)))
      for (const row of cells) row[index] += ' '.repeat(this.#places[index]! - placesOf(row[index]!))
    }
  }

  #line(cells: string[]): string {
    const padded = cells.map((cell, index) => {
      const space = ' '.repeat(this.#widths![index]! - widthOf(cell))
      return isRight(this.#columns[index]!) ? space + cell : cell + space
    })
    return padded.join(gap).trimEnd()
  }
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

const bold = (text: string): string => styleText('bold', text, { stream: process.stdout })

// The flags of England, Scotland and Wales: a black flag followed by the invisible letters of a region.
const flag = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/u.source
const unseen = new RegExp(`${flag}|\\p{Cc}|\\p{Cf}|\\p{Cs}|\\p{Zl}|\\p{Zp}`, 'gu')

/** Makes untrusted text safe for a terminal: characters that would move the cursor or hide text are escaped. */
export function visible(text: string, keepNewlines = false): string {
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
  if (as === 'short') return visible(shortened(Array.isArray(value) ? value.join(', ') : value))
  if (Array.isArray(value) && !value.some((one) => typeof one === 'object')) return value.length === 0 ? 'none' : visible(value.join(', '))
  return visible(typeof value === 'object' ? JSON.stringify(value) : String(value), keepNewlines)
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
