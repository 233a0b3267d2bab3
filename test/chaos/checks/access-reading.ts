/**
 * What the requests about access may have done and when, for the checks of access.ts and access-audit.ts. A request without a response may
 * take effect at any later time. Pure.
 */
import type { AccessEvent, StoredAccess } from '../history.ts'
import type { Reading, Violation } from './reading.ts'

export type Call = AccessEvent & { index: number }
export type Stored = StoredAccess & { index: number }

/** `opened`: by the name of a session or token, the request that created it. */
export type Access = { calls: Call[]; opened: Map<string, Call>; stored: Stored[] }

export function accessOf({ events }: Reading): Access {
  const indexed = events.map((event, index) => ({ ...event, index }))
  const calls = indexed.filter((event): event is Call & typeof event => event.kind === 'access')
  const opened = calls.filter(isAcknowledged).flatMap((call) => nameOfOpened(call).map((name) => [name, call] as const))
  const stored = indexed.filter((event): event is Stored & typeof event => event.kind === 'stored' && event.what === 'access')
  return { calls, opened: new Map(opened), stored }
}

export const violation = (what: string, ...calls: { index: number }[]): Violation => ({
  check: 'access',
  what,
  events: calls.map(({ index }) => index),
})

export const isAcknowledged = ({ result }: Call): boolean => result === 'acknowledged'
export const mayHaveEffect = ({ result }: Call): boolean => result !== 'refused'
const lastEffectAt = ({ result, at }: Call): number => (result === 'unknown' ? Infinity : at)

const nameOfOpened = ({ what, session, token }: Call): string[] =>
  [what === 'create-token' ? token : session].filter((name): name is string => name !== undefined)

/** It may have had an effect in this time. */
export const mayHaveActed = (call: Call, from: number, to: number): boolean =>
  mayHaveEffect(call) && lastEffectAt(call) >= from && call.startedAt <= to

const endings = new Set(['accept', 'end-sessions', 'role', 'disable', 'enable', 'remove'])

/** The request ends the session or token, if it has an effect. */
export function isEnding(call: Call, opened: Call): boolean {
  if (opened.what === 'create-token') return call.what === 'revoke-token' && call.token === opened.token
  if (call.operator !== opened.operator || call === opened) return false
  if (call.what === 'sign-out') return call.by === opened.session
  if (call.what === 'password') return call.by !== opened.session
  return endings.has(call.what)
}

/** A session or token that was opened and, until then, certainly neither ended nor about to. */
export const isSurelyLive = (opened: Call, until: number, calls: Call[], except?: Call): boolean =>
  opened.at < until && !calls.some((call) => call !== except && isEnding(call, opened) && mayHaveActed(call, opened.startedAt, until))
