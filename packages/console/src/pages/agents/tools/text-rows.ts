/** Headers or secrets as rows of a form. Pure. */

/** Texts by name; null keeps the stored one. */
export type GivenTexts = Record<string, string | null>

/** `stored`: a value with this name is stored. `key` identifies a row while its name is edited. */
export type TextRow = { key: number; name: string; value: string; stored: boolean }

export const rowsOf = (names: string[]): TextRow[] => names.map((name, key) => ({ key, name, value: '', stored: true }))

/** Returns the texts as they are sent: null keeps the stored value. */
export const givenOf = (rows: TextRow[]): GivenTexts =>
  Object.fromEntries(rows.map(({ name, value, stored }) => [name.trim(), value === '' && stored ? null : value]))

/** `mustReenter`: stored values cannot be kept. Returns undefined if there is no problem. */
export function problemOfRows(rows: TextRow[], mustReenter: boolean): string | undefined {
  const names = rows.map(({ name }) => name.trim())
  if (names.some((name) => name === '')) return 'Enter a name for each row.'
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return `${twice} is listed twice.`
  const empty = rows.find(({ value, stored }) => value === '' && (!stored || mustReenter))
  return (
    empty &&
    `Enter a value for ${empty.name.trim()}${empty.stored ? ': the name or the server changed, so the stored value cannot be reused' : ''}.`
  )
}
