/**
 * Finds a text in a text (`conversation.search`), in the same way on both stores: each letter matches in upper and lower case, of every script, and every other
 * character only itself. Neither store's own comparison is used, because SQLite's knows only ASCII and PostgreSQL's depends on the locale of
 * the database.
 */
import type { Sql } from '../sql.ts'

type Engine = Sql['engine']

/** A condition: the text in `column` contains what the pattern in `parameter` was made of. */
export const matchesText = (engine: Engine, column: string, parameter: string): string =>
  `${column} ${engine === 'sqlite' ? 'glob' : '~'} ${parameter}`

/** A pattern for `matchesText`: of GLOB on SQLite, and a regular expression on PostgreSQL. */
export function patternOf(engine: Engine, wanted: string): string {
  const parts = Array.from(wanted, (character) => {
    const cases = casesOf(character)
    if (cases.length > 1) return `[${cases.join('')}]`
    if (engine === 'sqlite') return /[*?[]/.test(character) ? `[${character}]` : character
    return /[!-/:-@[-`{-~]/.test(character) ? `\\${character}` : character
  })
  return engine === 'sqlite' ? `*${parts.join('')}*` : parts.join('')
}

/** The character and its other case, if that is one character: ß has none. Only letters have two, so none of them needs an escape. */
const casesOf = (character: string): string[] => [
  ...new Set([character, character.toLowerCase(), character.toUpperCase()].filter((form) => Array.from(form).length === 1)),
]

// What is shown before a match, as a share of the excerpt.
const shareBefore = 0.3

/**
 * At most `length` characters of a text, on one line: around the first occurrence of `wanted`, or without it from the start. Undefined if it
 * does not occur.
 */
export function excerptOf(whole: string, wanted: string | undefined, length: number): string | undefined {
  const at = wanted === undefined ? 0 : whole.search(new RegExp(Array.from(wanted, patternOfCharacter).join(''), 'u'))
  if (at === -1) return undefined
  // Only what can be in the excerpt: a text may have a hundred thousand characters. A pair is two units.
  const before = Array.from(whole.slice(Math.max(0, at - length * 2), at).replace(/^[\udc00-\udfff]/, ''))
  const after = Array.from(whole.slice(at, at + length * 2))
  const start = before.slice(-Math.floor(length * shareBefore))
  const isCutBefore = start.length < before.length
  const end = after.slice(0, length - start.length)
  const isCutAfter = at + end.join('').length < whole.length
  return `${isCutBefore ? '…' : ''}${start.join('')}${end.join('')}${isCutAfter ? '…' : ''}`.replaceAll(/\s+/g, ' ').trim()
}

const patternOfCharacter = (character: string): string => {
  const cases = casesOf(character)
  return cases.length > 1 ? `[${cases.join('')}]` : RegExp.escape(character)
}
