/**
 * Writes the data tables of HTML as tables of Markdown with a header row. Cells that span rows or columns keep the others in their columns.
 * A table that only lays out a page is replaced by its content.
 */
import type TurndownService from 'turndown'
import type { Element } from './dom.ts'

type Row = { element: Element; isHead: boolean; cells: Element[] }

// A header of several rows becomes one. More rows than this are data that is marked as a header.
const maxHeaderRows = 4
// A page may claim any width. Cells beyond are dropped from their columns, never their text.
const maxColumns = 200
// In characters. A short label that spans rows is repeated in each of them, so that each row can be understood alone.
const maxRepeated = 100

export function addTables(service: TurndownService): void {
  const layouts = new Map<Element, boolean>()
  const texts = new Map<Element, string>()
  const isLayout = (element: Element): boolean => {
    const table = element.closest('table')
    if (!table) return true
    const known = layouts.get(table) ?? laysOut(table)
    layouts.set(table, known)
    return known
  }
  service.addRule('cell', {
    filter: ['td', 'th'],
    replacement: (content, node: Element) => {
      if (isLayout(node)) return `\n\n${content}\n\n`
      texts.set(node, cellText(content))
      return ''
    },
  })
  service.addRule('row', {
    filter: 'tr',
    replacement: (content, node: Element) => (isLayout(node) ? `\n\n${content}\n\n` : ''),
  })
  service.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'], replacement: (content) => content })
  service.addRule('table', {
    filter: 'table',
    // What is left of a data table is its caption.
    replacement: (content, node: Element) =>
      isLayout(node) ? `\n\n${content.trim()}\n\n` : `\n\n${content.trim()}\n\n${tableText(node, texts)}\n\n`,
  })
}

/** Tables on old pages contain headings and other tables. */
function laysOut(table: Element): boolean {
  if (/^(?:presentation|none)$/i.test(table.getAttribute('role') ?? '')) return true
  if (table.querySelector('table, pre') !== null) return true
  return table.querySelector('h1, h2, h3, h4, h5, h6') !== null && table.querySelector('th') === null
}

const cellText = (content: string): string =>
  content
    .trim()
    // Headings and items in a cell are text.
    .replace(/^(?:#{1,6}|-)\s+/gm, '')
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')

function tableText(table: Element, texts: Map<Element, string>): string {
  const rows = rowsOf(table)
  const grid = gridOf(rows, texts)
  const heads = headerRows(rows, grid)
  const width = Math.max(1, ...grid.map((row) => row.length))
  const line = (cells: string[]): string => `|${Array.from({ length: width }, (_, column) => ` ${cells[column] ?? ''} |`).join('')}`
  const body = grid.slice(heads).filter((row) => row.some((cell) => cell !== ''))
  if (heads === 0) return body.map(line).join('\n')
  return [line(merged(grid.slice(0, heads), width)), `|${' --- |'.repeat(width)}`, ...body.map(line)].join('\n')
}

function rowsOf(table: Element): Row[] {
  return [...table.querySelectorAll('tr')].map((element) => ({
    element,
    isHead: element.closest('thead') !== null,
    cells: [...element.querySelectorAll('td, th')],
  }))
}

/** Places each cell in its columns. A cell that spans columns has its text in the first of them, a label that spans rows in all. */
function gridOf(rows: Row[], texts: Map<Element, string>): string[][] {
  let above: { text: string; rows: number }[] = []
  return rows.map(({ cells, isHead: isMarked }) => {
    const isHead = isMarked || isHeads(cells)
    const line: string[] = []
    const below: typeof above = []
    let column = 0
    const place = (text: string, span: number): void => {
      line[column] = line[column] === undefined ? text : `${line[column]} ${text}`.trim()
      if (span > 1) below[column] = { text, rows: span - 1 }
      if (column < maxColumns - 1) column++
    }
    const continueAbove = (): void => {
      const heldHere = (): { text: string; rows: number } | undefined => (column < maxColumns - 1 ? above[column] : undefined)
      for (let held = heldHere(); held !== undefined; held = heldHere()) place(held.text, held.rows)
    }
    for (const cell of cells) {
      continueAbove()
      const text = texts.get(cell) ?? ''
      const [width, height] = [spanOf(cell, 'colspan'), spanOf(cell, 'rowspan')]
      const label = text.length <= maxRepeated ? text : ''
      for (let at = 0; at < width; at++) {
        const shown = at === 0 || (isHead && label !== '') ? text : ''
        place(shown, 1)
        // In a header, the rows below have names of their own.
        if (height > 1) below[column - 1] = { text: at === 0 && !isHead ? label : '', rows: height - 1 }
      }
    }
    continueAbove()
    above = below
    return Array.from(line, (text) => text ?? '')
  })
}

function spanOf(cell: Element, name: 'colspan' | 'rowspan'): number {
  const span = Number.parseInt(cell.getAttribute(name) ?? '', 10)
  return span > 1 ? Math.min(span, name === 'colspan' ? maxColumns : 65_534) : 1
}

/**
 * How many of the first rows name the columns: those marked as a header; otherwise those that have header cells alone; otherwise the first
 * row. A table whose rows start with a header cell and have none above has rows of names and values, and no header.
 */
function headerRows(rows: Row[], grid: string[][]): number {
  const leading = (matches: (row: Row) => boolean): number => {
    const end = rows.findIndex((row) => !matches(row))
    return Math.min(end === -1 ? rows.length : end, maxHeaderRows)
  }
  if (rows.length < 2 || (grid[0]?.length ?? 0) < 2) return 0
  const marked = leading(({ isHead }) => isHead)
  if (marked > 0) return marked
  const ofHeads = leading(({ cells }) => isHeads(cells))
  if (ofHeads > 0 && ofHeads < rows.length) return ofHeads
  const isNamed = rows.every(({ cells }) => cells[0]?.nodeName === 'TH')
  const startsEmpty = rows[0]!.cells[0]?.nodeName === 'TD' && rows[0]!.cells.slice(1).every(({ nodeName }) => nodeName === 'TH')
  return isNamed && !startsEmpty ? 0 : 1
}

const isHeads = (cells: Element[]): boolean => cells.length > 0 && cells.every(({ nodeName }) => nodeName === 'TH')

/** Joins the names of a column: "2026 Sales". */
function merged(heads: string[][], width: number): string[] {
  return Array.from({ length: width }, (_, column) => [...new Set(heads.map((row) => row[column] ?? ''))].filter(Boolean).join(' '))
}
