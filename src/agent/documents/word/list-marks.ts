/**
 * Carries the numbers of lists through the converter: a mark before the text of a paragraph becomes an item of a list in Markdown. The
 * converter itself would number every list from 1.
 */
import type { ListItem } from './numbering.ts'

// Characters that Unicode reserves for a program's own use within itself.
const [start, end] = ['\ufdd0', '\ufdd1']
const marks = /[\ufdd0\ufdd1]/g
const mark = /\ufdd0(\d)\ufdd1/g
const itemStart = /^\ufdd0(\d)\ufdd1/
const headingStart = /^(#{1,6} )\ufdd0\d\ufdd1(- )?/

export const listMark = ({ level, label }: ListItem): string => `${start}${level}${end}${label === '' ? '' : `${label} `}`

/** A document's own text has none. */
export const withoutMarks = (xml: string): string => xml.replace(marks, '')

/** Turns marked paragraphs into items, without blank lines between them. */
export function writeLists(markdown: string): string {
  if (!markdown.includes(start)) return markdown
  const written: string[] = []
  let wasItem = false
  for (const block of markdown.split(/\n{2,}/)) {
    const level = itemStart.exec(block)?.[1]
    const text = block.replace(headingStart, '$1')
    const isItem = level !== undefined
    written.push(written.length === 0 ? '' : wasItem && isItem ? '\n' : '\n\n')
    written.push(isItem ? `${'  '.repeat(Number(level))}${text.replace(itemStart, '')}` : text)
    wasItem = isItem
  }
  return written.join('').replace(mark, '')
}
