/**
 * The audit log about operators, sessions and tokens: each acknowledged change has exactly one entry, one without a response at most one, and
 * there is no entry without its change. Entries name the request. Pure.
 */
import type { AccessRequest, StoredAccess } from '../history.ts'
import { isAcknowledged, isSurelyLive, mayHaveActed, violation } from './access-reading.ts'
import type { Access, Call, Stored } from './access-reading.ts'
import type { Violation } from './reading.ts'

type Entry = StoredAccess['audit'][0]

/** What each request adds to the log: `verb noun`. */
const entriesOf: Record<AccessRequest, string[]> = {
  invite: ['create operator'],
  'invite-again': ['invite operator'],
  accept: ['accept invitation', 'open session'],
  'sign-in': ['open session'],
  read: [],
  list: [],
  'sign-out': ['close session'],
  'end-sessions': ['end_sessions operator'],
  password: ['change operator password'],
  role: ['change operator'],
  disable: ['change operator'],
  enable: ['change operator'],
  remove: ['remove operator'],
  'create-token': ['create token'],
  'revoke-token': ['revoke token'],
}

export function* checkAudit(stored: Stored, access: Access): Generator<Violation> {
  const nameOf = new Map(access.calls.flatMap(({ id, operator, token }) => (id === undefined ? [] : [[id, operator ?? token] as const])))
  const about = (entry: Entry): string | undefined =>
    entry.created ?? nameOf.get(entry.noun === 'session' ? (entry.authorId ?? '') : entry.subjectId)
  const groups = Map.groupBy(stored.audit, (entry) => `${sortOf(entry)} ${about(entry)}`)
  const asked = Map.groupBy(
    access.calls.flatMap((call) => entriesOf[call.what].map((sort) => ({ call, sort }))),
    ({ call, sort }) => `${sort} ${call.operator ?? call.token}`,
  )
  for (const [name, entries] of groups)
    if (!asked.has(name)) yield violation(`${entries.length} audit entries without a change: ${name}`, stored)
  for (const [name, of] of asked) {
    const calls = of.map(({ call }) => call)
    const entries = groups.get(name) ?? []
    yield* name.startsWith('revoke token ') ? onlyOnce(name, calls, entries, stored) : eachOnce(name, calls, entries, stored, access)
  }
}

const sortOf = ({ verb, noun, fields }: Entry): string =>
  `${verb} ${noun}${verb === 'change' && fields.includes('password') ? ' password' : ''}`

/** The second revocation of a token is acknowledged as well, and changes nothing. */
function* onlyOnce(name: string, calls: Call[], entries: Entry[], stored: Stored): Generator<Violation> {
  const least = calls.some(isAcknowledged) ? 1 : 0
  const most = calls.some(({ result }) => result !== 'refused') ? 1 : 0
  if (entries.length < least || entries.length > most)
    yield violation(`${entries.length} audit entries for one change: ${name}`, ...calls, stored)
}

function* eachOnce(name: string, calls: Call[], entries: Entry[], stored: Stored, access: Access): Generator<Violation> {
  const byRequest = Map.groupBy(entries, ({ requestId }) => requestId)
  for (const call of calls.filter(isAcknowledged)) {
    const count = byRequest.get(call.requestId)?.length ?? 0
    if (count > 1 || (count === 0 && surelyChanges(call, access)))
      yield violation(`${count} audit entries for one change: ${name}`, call, stored)
  }
  const acknowledged = new Set(calls.filter(isAcknowledged).map(({ requestId }) => requestId))
  const others = entries.filter(({ requestId }) => !acknowledged.has(requestId))
  const unknown = calls.filter((call) => call.result === 'unknown' || mayBeHalf(call, name, access))
  if (others.length > unknown.length)
    yield violation(`${others.length} audit entries for ${unknown.length} changes without a response: ${name}`, ...unknown, stored)
}

/** The link is accepted in one transaction and the session opened in the next one, which refuses if the operator has changed meanwhile. */
const mayBeHalf = (call: Call, name: string, { calls }: Access): boolean =>
  name.startsWith('accept invitation ') &&
  call.status === 401 &&
  calls.some((one) => one !== call && one.operator === call.operator && one.what !== 'accept' && mayHaveActed(one, call.startedAt, call.at))

/** Sessions that have ended already cannot be ended again, which is acknowledged as well. */
function surelyChanges(call: Call, { calls, opened }: Access): boolean {
  if (call.what === 'sign-out') return isSurelyLive(opened.get(call.by!)!, call.at, calls, call)
  if (call.what !== 'end-sessions') return true
  return [...opened.values()].some(
    (one) => one.operator === call.operator && one.at < call.startedAt && isSurelyLive(one, call.at, calls, call),
  )
}
