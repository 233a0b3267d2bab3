/**
 * Compares the output that a document shows with what the program prints. What differs between runs is removed from both (ids, times,
 * amounts, long fractions). `…` in the document stands for any text, including several lines.
 */
import assert from 'node:assert/strict'
import type { Shown } from './document-blocks.ts'

const changing: [RegExp, string][] = [
  [/\b([a-z]{3,4})_[0-9a-hjkmnp-tv-z]{26}\b/g, '$1_ID'],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\b)/g, 'TIME'],
  [/\b\d+\.\d{9,}\b/g, 'NUMBER'],
  // The width of columns depends on their content.
  [/ {2,}/g, '  '],
  [/[ \t]+$/gm, ''],
]
const amounts: [RegExp, string] = [/-?\d+\.\d{8}\b/g, 'AMOUNT']

export function assertShown({ text, as }: Shown, printed: string, program: string): void {
  const masks = as === 'exact' ? changing : [...changing, amounts]
  const masked = (words: string): string => masks.reduce((all, [mark, word]) => all.replace(mark, word), words).trim()
  const pattern = masked(text)
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join(String.raw`[\s\S]*?`)
  if (!new RegExp(`^${pattern}$`).test(masked(printed)))
    assert.equal(masked(printed), masked(text), `what this prints is not what the document shows:\n${program}`)
}
