/**
 * Who has access: a link is used once, what has ended stays ended, what was acknowledged and not ended works, and an admin is left. Nothing is
 * allowed for caches: the service looks each session and token up in the store. Pure.
 */
import { checkAudit } from './access-audit.ts'
import { accessOf, isAcknowledged, isEnding, isSurelyLive, mayHaveActed, mayHaveEffect, violation } from './access-reading.ts'
import type { Access, Call, Stored } from './access-reading.ts'
import type { Reading, Violation } from './reading.ts'

export function* checkAccess(reading: Reading): Generator<Violation> {
  const all = accessOf(reading)
  const { calls } = all
  for (const call of calls) {
    yield* ended(call, all)
    yield* refused(call, all)
    if (call.what === 'sign-in') yield* signedIn(call, all)
    if (call.what === 'accept') yield* accepted(call, all)
    if (call.result === 'unknown' && !reading.disturbed(call.startedAt, call.at))
      yield violation(`a request to ${call.what} has no result with nothing broken`, call)
  }
  yield* adminIsLeft(calls)
  for (const stored of all.stored) {
    yield* isStored(stored, calls)
    yield* checkAudit(stored, all)
  }
}

/** After an acknowledged ending, nothing succeeds with the session or token. */
function* ended(call: Call, { calls, opened: all }: Access): Generator<Violation> {
  const opened = call.by === null ? undefined : all.get(call.by)
  if (!opened || !isAcknowledged(call)) return
  const end = calls.find(
    (one) => isAcknowledged(one) && isEnding(one, opened) && one.startedAt > opened.at && one.at < call.startedAt && surelyEnds(one, calls),
  )
  if (end) yield violation(`a request to ${call.what} succeeds with a ${kindOf(opened)} that was ended by ${end.what}`, end, call)
}

const kindOf = ({ what }: Call): string => (what === 'create-token' ? 'token' : 'session')

/** A change to the role that the operator has already ends nothing, and neither does enabling one that is enabled. */
function surelyEnds(call: Call, calls: Call[]): boolean {
  if (call.what === 'enable') return false
  if (call.what !== 'role') return true
  const others = calls.filter((one) => one !== call && one.operator === call.operator && one.role !== undefined && mayHaveEffect(one))
  const before = others.findLast((one) => isAcknowledged(one) && one.at < call.startedAt)
  const meanwhile = others.filter((one) => mayHaveActed(one, before?.startedAt ?? 0, call.at))
  return before !== undefined && meanwhile.every(({ role }) => role !== call.role)
}

/** A session, token or password that nothing has ended, and a link that no one has used, is accepted. */
function* refused(call: Call, { calls, opened: all }: Access): Generator<Violation> {
  if (call.status !== 401) return
  const opened = call.by === null ? undefined : all.get(call.by)
  if (opened && opened.at < call.startedAt && isSurelyLive(opened, call.at, calls, call))
    yield violation(`a ${kindOf(opened)} that nothing has ended is refused`, opened, call)
  const source = sourceOf(call, calls)
  if (!source || source.at >= call.startedAt) return
  const excuses = call.what === 'accept' ? changesLink : changesPassword
  const isExcused = calls.some(
    (one) =>
      one !== call &&
      one !== source &&
      one.operator === call.operator &&
      ((excuses.has(one.what) && mayHaveActed(one, source.startedAt, call.at)) ||
        // A change at the same time: what was checked is not valid any more.
        mayHaveActed(one, call.startedAt, call.at)),
  )
  if (!isExcused) yield violation(`a ${call.what === 'accept' ? 'link' : 'password'} that is valid is refused`, source, call)
}

const changesLink = new Set(['accept', 'invite-again', 'disable', 'remove'])
const changesPassword = new Set(['accept', 'password', 'disable', 'enable', 'remove'])

/** The acknowledged request that made the link, or set the password. */
function sourceOf(call: Call, calls: Call[]): Call | undefined {
  const { what, operator, link, password } = call
  const made = calls.filter((one) => one !== call && isAcknowledged(one) && one.operator === operator)
  if (what === 'accept') return made.find((one) => one.what !== 'accept' && one.link === link)
  if (what === 'sign-in') return made.find((one) => one.what !== 'sign-in' && one.password === password)
  return undefined
}

/** Who was disabled or removed cannot sign in, and neither can anyone with an old password. */
function* signedIn(call: Call, { calls }: Access): Generator<Violation> {
  if (!isAcknowledged(call)) return
  yield* notWhileDisabled(call, calls)
  const source = sourceOf(call, calls)
  const replaced = earlier(call, calls).find(
    (one) =>
      (one.what === 'password' && one.before === call.password) ||
      (one.what === 'accept' && one.password !== undefined && source && one !== source && one.startedAt > source.at),
  )
  if (replaced) yield violation('a password that was replaced is accepted', replaced, call)
}

/** A link is used once, and not after a newer one. */
function* accepted(call: Call, { calls }: Access): Generator<Violation> {
  if (!isAcknowledged(call)) return
  const twice = calls.find((one) => one.index < call.index && one.what === 'accept' && one.link === call.link && isAcknowledged(one))
  if (twice) yield violation('a link is used twice', twice, call)
  const source = sourceOf(call, calls)
  const replaced = earlier(call, calls).find(
    (one) => source && one.startedAt > source.at && (one.what === 'invite-again' || one.what === 'disable'),
  )
  if (replaced) yield violation('a link that was replaced is used', replaced, call)
  yield* notWhileDisabled(call, calls)
}

function* notWhileDisabled(call: Call, calls: Call[]): Generator<Violation> {
  const isEnabled = (disabled: Call): boolean =>
    calls.some((one) => one.what === 'enable' && one.operator === call.operator && mayHaveActed(one, disabled.startedAt, call.at))
  const end = earlier(call, calls).find((one) => one.what === 'remove' || (one.what === 'disable' && !isEnabled(one)))
  if (end) yield violation(`an operator signs in after ${end.what}`, end, call)
}

/** Acknowledged requests about the same operator that ended before this one started. */
const earlier = (call: Call, calls: Call[]): Call[] =>
  calls.filter((one) => isAcknowledged(one) && one.operator === call.operator && one.at < call.startedAt)

/** From the first one on, there is always an active admin. */
function* adminIsLeft(calls: Call[]): Generator<Violation> {
  const isAdmin = new Set(calls.filter(({ what, role }) => what === 'invite' && role === 'admin').map(({ operator }) => operator))
  const first = calls.find((call) => call.what === 'accept' && isAcknowledged(call) && isAdmin.has(call.operator))
  if (!first) return
  for (const call of calls)
    if (call.operators && call.startedAt > first.at && !call.operators.some(({ role, state }) => role === 'admin' && state === 'active'))
      yield violation('no admin is left', first, call)
}

/** What was acknowledged is stored, and what no one asked for is not. */
function* isStored(stored: Stored, calls: Call[]): Generator<Violation> {
  const has = (wanted: Partial<Call>, test: (call: Call) => boolean): Call | undefined =>
    calls.find((call) => test(call) && Object.entries(wanted).every(([name, value]) => call[name as keyof Call] === value))
  const problem = (what: string, call?: Call): Violation => violation(what, ...(call ? [call] : []), stored)
  const operators = new Set(stored.operators.map(({ email }) => email))
  for (const operator of operators) {
    const removed = has({ what: 'remove', operator }, isAcknowledged)
    if (removed) yield problem(`${operator} is stored after its removal`, removed)
    if (!has({ what: 'invite', operator }, mayHaveEffect)) yield problem(`${operator} is stored, whom no one invited`)
  }
  const tokens = new Map(stored.tokens.map((token) => [token.name, token]))
  for (const [token, { isRevoked }] of tokens) {
    const revoked = has({ what: 'revoke-token', token }, isRevoked ? mayHaveEffect : isAcknowledged)
    if (isRevoked !== (revoked !== undefined)) yield problem(`${token} is stored as ${isRevoked ? 'revoked' : 'valid'}`, revoked)
    if (!has({ what: 'create-token', token }, mayHaveEffect)) yield problem(`${token} is stored, which no one created`)
  }
  for (const call of calls.filter(isAcknowledged)) {
    const { what, operator, token } = call
    const isLost =
      (what === 'invite' && !operators.has(operator!) && !has({ what: 'remove', operator: operator! }, mayHaveEffect)) ||
      (what === 'create-token' && !tokens.has(token!))
    if (isLost) yield problem(`${operator ?? token} is not stored`, call)
  }
}
