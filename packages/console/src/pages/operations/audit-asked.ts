/** The filters of the audit log, as in the address of the page and in GET /audit. */

import { authors } from '../../show/author-of.ts'
import { readDay } from '../../show/usage-range.ts'

export type Author = keyof typeof authors
export const authorNames = Object.keys(authors) as Author[]

/** Empty: not filtered. Days are UTC days, both inclusive. */
export type Asked = { who: Author | ''; authorId: string; verb: string; noun: string; subjectId: string; from: string; to: string }

const names = { who: 'who', authorId: 'author_id', verb: 'verb', noun: 'noun', subjectId: 'subject_id', from: 'from', to: 'to' } as const
const fields = Object.entries(names) as [keyof Asked, string][]
const dayMs = 86_400_000

const isAuthor = (text: string): text is Author => authorNames.some((name) => name === text)
const dayOrNone = (text: string): string => (readDay(text) === undefined ? '' : text)

/** A value that the server would refuse is left out. */
export function readAsked(params: URLSearchParams): Asked {
  const given = Object.fromEntries(fields.map(([field, name]) => [field, params.get(name) ?? ''])) as Record<keyof Asked, string>
  const { who, from, to } = given
  return { ...given, who: isAuthor(who) ? who : '', from: dayOrNone(from), to: dayOrNone(to) }
}

/** `others`: what else the address has. */
export function writeAsked(asked: Asked, others: URLSearchParams): URLSearchParams {
  const params = new URLSearchParams(others)
  for (const [field, name] of fields) {
    if (asked[field] === '') params.delete(name)
    else params.set(name, asked[field])
  }
  return params
}

/** As in GET /audit, where `to` is excluded. */
export function queryOf({ to, ...asked }: Asked): Record<string, string> {
  const end = to === '' ? '' : new Date(Date.parse(to) + dayMs).toISOString().slice(0, 10)
  const query = fields.map(([field, name]) => [name, field === 'to' ? end : asked[field as Exclude<keyof Asked, 'to'>]])
  return Object.fromEntries(query.filter(([, value]) => value !== ''))
}

export const isFiltered = (asked: Asked): boolean => Object.keys(queryOf(asked)).length > 0
