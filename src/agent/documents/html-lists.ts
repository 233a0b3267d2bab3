/** Writes the items of HTML lists with the numbers that a browser shows: `start`, `value`, `reversed`, letters and Roman numerals. */
import type TurndownService from 'turndown'
import type { Element } from './dom.ts'
import { numberText } from './word/number-text.ts'

const formats: Record<string, string> = { a: 'lowerLetter', A: 'upperLetter', i: 'lowerRoman', I: 'upperRoman' }
const styles: [RegExp, string][] = [
  [/lower-(?:alpha|latin)/i, 'lowerLetter'],
  [/upper-(?:alpha|latin)/i, 'upperLetter'],
  [/lower-roman/i, 'lowerRoman'],
  [/upper-roman/i, 'upperRoman'],
  [/decimal-leading-zero/i, 'decimalZero'],
]

export function addLists(service: TurndownService): void {
  const labels = new Map<Element, string>()
  const numbered = new Set<Element>()
  service.addRule('item', {
    filter: 'li',
    replacement: (content, node: Element) => {
      const list = node.closest('ol, ul')
      if (list?.nodeName === 'OL' && !numbered.has(list)) {
        numbered.add(list)
        number(list, labels)
      }
      const label = labels.get(node) ?? '-'
      const text = content.trim().replaceAll('\n', `\n${' '.repeat(label.length + 1)}`)
      return `${label} ${text}\n`
    },
  })
}

function number(list: Element, labels: Map<Element, string>): void {
  const items = [...list.children].filter(({ nodeName }) => nodeName === 'LI')
  const isReversed = list.getAttribute('reversed') !== null
  let next = integerOf(list, 'start') ?? (isReversed ? items.length : 1)
  const style = list.getAttribute('style') ?? ''
  const format = styles.find(([pattern]) => pattern.test(style))?.[1] ?? formats[list.getAttribute('type') ?? ''] ?? 'decimal'
  for (const item of items) {
    next = integerOf(item, 'value') ?? next
    labels.set(item, `${numberText(next, format)}.`)
    next += isReversed ? -1 : 1
  }
}

function integerOf(element: Element, name: string): number | undefined {
  const value = element.getAttribute(name)
  return value !== null && /^\s*-?\d{1,9}\s*$/.test(value) ? Number(value) : undefined
}
