/**
 * The annotations of a page: the values of a form, which are not part of the page's text, and what others have written on it. A value is put
 * where it is on the page, so that it follows its label.
 */
import type { Warnings } from './warnings.ts'

/** A piece of text, from left to right in its line. `transform` ends with its position. */
export type Item = { str: string; hasEOL: boolean; height: number; width: number; transform: number[] }

/** What the library reports of an annotation and is used here. All of it comes from the document. */
export type Annotation = {
  subtype?: string
  rect?: number[]
  fieldType?: string
  fieldName?: string
  alternativeText?: string
  fieldValue?: unknown
  options?: { exportValue?: unknown; displayValue?: unknown }[]
  checkBox?: boolean
  radioButton?: boolean
  pushButton?: boolean
  exportValue?: unknown
  buttonValue?: unknown
  password?: boolean
  hidden?: boolean
  contentsObj?: { str?: string }
}

const remarks = new Set(['Text', 'Highlight', 'Underline', 'Squiggly', 'StrikeOut', 'Caret', 'Ink'])

export function noteAnnotations(annotations: Annotation[], warnings: Warnings): void {
  for (const { subtype, contentsObj } of annotations) {
    if (subtype === 'FileAttachment') warnings.add('embedded_files')
    else if (subtype !== undefined && remarks.has(subtype) && contentsObj?.str) warnings.add('comments')
  }
}

/** Returns the text of the page with the values of its fields, and with what was typed onto it. */
export function addFields(items: Item[], annotations: Annotation[]): Item[] {
  const filled = items.map((item) => ({ ...item }))
  for (const annotation of annotations) {
    if (annotation.subtype === 'FreeText' && annotation.contentsObj?.str) insert(filled, annotation, annotation.contentsObj.str, '')
    if (annotation.subtype !== 'Widget' || annotation.password === true || annotation.pushButton === true) continue
    const value = shownValue(annotation)
    const label = annotation.alternativeText?.trim() || annotation.fieldName?.trim() || ''
    if (value !== undefined) insert(filled, annotation, value, label)
  }
  return filled
}

function shownValue({ fieldType, fieldValue, options, checkBox, radioButton, exportValue, buttonValue }: Annotation): string | undefined {
  if (checkBox === true || radioButton === true) {
    const on = checkBox === true ? exportValue : buttonValue
    return on !== undefined && on !== null && fieldValue === on ? '[x]' : '[ ]'
  }
  const values = Array.isArray(fieldValue) ? fieldValue : [fieldValue]
  const texts = values.filter((value) => typeof value === 'string' && value.trim() !== '') as string[]
  if (texts.length === 0 || (fieldType !== 'Tx' && fieldType !== 'Ch')) return undefined
  const named = (value: string): string => {
    const shown = options?.find((option) => option.exportValue === value)?.displayValue
    return typeof shown === 'string' ? shown : value
  }
  return texts.map(named).join(', ').replace(/\s+/g, ' ').trim()
}

/** Inserts the text after what is left of it in its line, or else before what is right of it; without a line, at the end with its label. */
function insert(items: Item[], { rect }: Annotation, text: string, label: string): void {
  const [left, bottom, , top] = rect?.length === 4 ? (rect as [number, number, number, number]) : [0, 0, 0, 0]
  const inLine = items
    .map((item, index) => ({ index, x: item.transform[4] ?? 0, y: item.transform[5] ?? 0, isText: item.str.trim() !== '' }))
    .filter(({ y, isText }) => isText && y >= bottom - (top - bottom) / 4 && y <= top)
  const height = Math.abs(top - bottom)
  const made = (hasEOL: boolean): Item => ({ str: ` ${text} `, hasEOL, height: 0, width: 0, transform: [1, 0, 0, 1, left, bottom] })
  const before = inLine.filter(({ x }) => x <= left).toSorted((one, other) => other.x - one.x || other.index - one.index)[0]
  const after = inLine.filter(({ x }) => x > left).toSorted((one, other) => one.x - other.x)[0]
  if (before) {
    const found = items[before.index]!
    items.splice(before.index + 1, 0, made(found.hasEOL))
    found.hasEOL = false
  } else if (after) items.splice(after.index, 0, { ...made(false), transform: items[after.index]!.transform })
  else {
    const last = items.at(-1)
    if (last) last.hasEOL = true
    const named = label === '' || text === label ? text : `${label}: ${text}`
    items.push({ ...made(true), str: named, height: Math.min(height, 12) })
  }
}
