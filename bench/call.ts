/**
 * One request written once for many turns: a call is text with marks, and a turn fills in its user, its message and its key. Whoever sends
 * thousands of them a second has nothing to serialise.
 */
import type { Call } from './scenario.ts'

export const marks = { user: '{{user}}', text: '{{text}}', key: '{{key}}' } as const

/** Of every reply of the upstream: who has both has seen its first word and its last. */
export const firstToken = 'tokfirst'
export const lastToken = 'toklast'

export type Filling = { user: string; text: string; key: string }
export type Filled = { path: string; headers: Record<string, string>; body: string }

/**
 * A function that fills a call's marks. What it is given is put into JSON as it stands: letters, digits, blanks, hyphens and full stops.
 */
export function filler(call: Call): (filling: Filling) => Filled {
  const path = cut(call.path)
  const body = cut(call.body)
  const headers = Object.entries(call.headers).map(([name, value]) => ({ name, write: cut(value) }))
  return (filling) => ({
    path: path(filling),
    body: body(filling),
    headers: Object.fromEntries(headers.map(({ name, write }) => [name, write(filling)])),
  })
}

/** The text between the marks is cut once. */
function cut(text: string): (filling: Filling) => string {
  const pieces = text.split(/(\{\{(?:user|text|key)\}\})/)
  if (pieces.length === 1) return () => text
  const names = Object.keys(marks) as (keyof Filling)[]
  const parts = pieces.map((piece) => ({ piece, name: names.find((name) => marks[name] === piece) }))
  return (filling) => parts.map(({ piece, name }) => (name === undefined ? piece : filling[name])).join('')
}
