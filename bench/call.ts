/**
 * One request as a template for many turns: a call is text with placeholders for the user, the message and the key of a turn. So a client
 * that sends thousands per second has nothing to serialize.
 */
import type { Call } from './scenario.ts'

export const marks = { user: '{{user}}', text: '{{text}}', key: '{{key}}' } as const

/** Part of every reply of the upstream: a reply with both has its first and its last token. */
export const firstToken = 'tokfirst'
export const lastToken = 'toklast'

export type Filling = { user: string; text: string; key: string }
export type Filled = { path: string; headers: Record<string, string>; body: string }

/**
 * A function that replaces the placeholders of a call. The values are inserted into JSON unchanged, so they consist of letters, digits,
 * spaces, hyphens and periods.
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

/** The text between the placeholders is split once. */
function cut(text: string): (filling: Filling) => string {
  const pieces = text.split(/(\{\{(?:user|text|key)\}\})/)
  if (pieces.length === 1) return () => text
  const names = Object.keys(marks) as (keyof Filling)[]
  const parts = pieces.map((piece) => ({ piece, name: names.find((name) => marks[name] === piece) }))
  return (filling) => parts.map(({ piece, name }) => (name === undefined ? piece : filling[name])).join('')
}
