/** Every way in which a history can violate what holds for operators, sessions and tokens, as in broken-histories.ts. */
import type { Broken, ways } from './broken-histories.ts'
import type { AccessEvent, StoredAccess } from './history.ts'

export const accessWays: typeof ways = [
  ['access', 'a link that is used twice', (h) => succeed(h, request(h, 'accept', { link: 'l1', status: 401 }), 'other')],
  ['access', 'a link that was replaced and is used', (h) => succeed(h, request(h, 'accept', { link: 'l2' }), 'other')],
  ['access', 'a link that no one used and is refused', (h) => Object.assign(request(h, 'accept', { link: 'l5' }), refused)],
  ...(
    [
      ['s1', 'after a change of the role'],
      ['s2', 'after a change of the password'],
      ['s3', 'after all sessions were ended'],
      ['s4', 'after a sign-out'],
      ['s5', 'after a new password by a link'],
      ['t1', 'after its revocation'],
    ] as const
  ).map(([by, when]): (typeof ways)[0] => [
    'access',
    `${by} that succeeds ${when}`,
    (h) => succeed(h, request(h, 'read', { by, status: 401 })),
  ]),
  ['access', 'a change with a token after its revocation', (h) => (request(h, 'list', {}).by = asLateAs(h, 't1'))],
  ['access', 'a session that succeeds after its operator was disabled', (h) => readWhileDisabled(h)],
  ['access', 'a session that nothing has ended and is refused', (h) => Object.assign(request(h, 'read', { by: 's1' }), refused)],
  ['access', 'a token that no one revoked and is refused', (h) => Object.assign(request(h, 'read', { by: 't2' }), refused)],
  ['access', 'a password that was replaced and is accepted', (h) => signInWith(h, 'p1')],
  ['access', 'a password that a link has replaced and is accepted', (h) => signInWith(h, 'p2', -1)],
  ['access', 'a valid password that is refused', (h) => refuseSignIn(h)],
  ['access', 'an operator who signs in while disabled', (h) => signInWith(h, 'p2')],
  ['access', 'an operator who signs in after the removal', (h) => signInWith(h, 'p4')],
  ['access', 'no admin who is left', (h) => (request(h, 'list', {}).operators = [])],
  ['access', 'a request without a result with nothing broken', (h) => loseLast(h)],
  ['access', 'an operator who was invited and is not stored', (h) => h.of('access') && void stored(h).operators.pop()],
  [
    'access',
    'an operator who was removed and is stored',
    (h) => stored(h).operators.push({ id: 'id of xia@chaos.example', email: 'xia@chaos.example', role: 'viewer', state: 'disabled' }),
  ],
  [
    'access',
    'an operator whom no one invited',
    (h) => stored(h).operators.push({ id: 'opr_x', email: 'eve@chaos.example', role: 'viewer', state: 'active' }),
  ],
  ['access', 'a token that was created and is not stored', (h) => void stored(h).tokens.splice(1, 1)],
  ['access', 'a token that no one created', (h) => stored(h).tokens.push({ id: 'tok_x', name: 'made up', isRevoked: false })],
  ['access', 'a revocation that is not stored', (h) => (stored(h).tokens[0]!.isRevoked = false)],
  ['access', 'a revocation that no one asked for', (h) => (stored(h).tokens[1]!.isRevoked = true)],
  ...(
    [
      'create operator',
      'invite operator',
      'accept invitation',
      'open session',
      'change operator',
      'end_sessions operator',
      'close session',
      'remove operator',
      'create token',
      'revoke token',
    ] as const
  ).flatMap((sort): typeof ways => [
    ['access', `a change without an audit entry: ${sort}`, (h) => void stored(h).audit.splice(entryAt(h, sort), 1)],
    ['access', `a change with two audit entries: ${sort}`, (h) => void stored(h).audit.push({ ...stored(h).audit[entryAt(h, sort)]! })],
  ]),
  [
    'access',
    'an audit entry of a refused change',
    (h) =>
      stored(h).audit.push({
        ...stored(h).audit[entryAt(h, 'change operator')]!,
        requestId: request(h, 'role', { status: 409 }).requestId,
      }),
  ],
  [
    'access',
    'an audit entry without its change',
    (h) => stored(h).audit.push({ ...stored(h).audit[entryAt(h, 'remove operator')]!, subjectId: 'id of t2' }),
  ],
  [
    'access',
    'two audit entries of a change without a response',
    (h) => stored(h).audit.push({ ...stored(h).audit.find(({ created }) => created === 't3')!, requestId: 'access x' }),
  ],
]

const refused = { result: 'refused', status: 401 } as const

/** The n-th request with these properties, or from the end. */
const request = (h: Broken, what: AccessEvent['what'], wanted: Partial<AccessEvent>, nth = 0): AccessEvent =>
  h
    .of('access')
    .filter((event) => event.what === what && Object.entries(wanted).every(([name, value]) => event[name as keyof AccessEvent] === value))
    .at(nth)!

const stored = (h: Broken): StoredAccess => h.of('stored').find((event): event is StoredAccess & typeof event => event.what === 'access')!

const entryAt = (h: Broken, sort: string): number => stored(h).audit.findIndex(({ verb, noun }) => `${verb} ${noun}` === sort)

/** With the audit entries of a sign-in, so that only the success is wrong. */
function succeed(h: Broken, call: AccessEvent, session?: string): void {
  Object.assign(call, { result: 'acknowledged', status: 201 })
  if (session === undefined) return
  call.session = session
  const { requestId } = call
  const of = (sort: string): void => void stored(h).audit.push({ ...stored(h).audit[entryAt(h, sort)]!, requestId })
  of('open session')
  if (call.what === 'accept') of('accept invitation')
}

/** The first of its refused sign-ins with this password, or the n-th, succeeds. */
function signInWith(h: Broken, password: string, nth = 0): void {
  succeed(h, request(h, 'sign-in', { password, status: 401 }, nth), 'other')
}

function refuseSignIn(h: Broken): void {
  const call = request(h, 'sign-in', { session: 's4' })
  h.remove((event) => event.kind === 'access' && (event.by === 's4' || event === call))
  const { audit } = stored(h)
  const entries = audit.filter(({ requestId, verb }) => requestId !== call.requestId && verb !== 'close')
  audit.splice(0, audit.length, ...entries)
  const { session: _session, ...rest } = call
  h.events.push({ ...rest, ...refused })
}

function readWhileDisabled(h: Broken): void {
  const [disabled, opened] = [request(h, 'disable', {}), request(h, 'sign-in', { session: 's3' })]
  h.remove((event) => event.kind === 'access' && (event.what === 'end-sessions' || event.by === 's3'))
  const { audit } = stored(h)
  audit.splice(entryAt(h, 'end_sessions operator'), 1)
  h.events.push({ ...disabled, what: 'read', by: opened.session!, startedAt: disabled.at + 1, at: disabled.at + 2 })
}

/** Moves the token's creation and revocation before the request, so that it is one with a revoked token. */
function asLateAs(h: Broken, token: string): string {
  const { startedAt } = request(h, 'list', {})
  for (const [what, at] of [
    ['create-token', startedAt - 4],
    ['revoke-token', startedAt - 2],
  ] as const)
    Object.assign(request(h, what, { token }), { startedAt: at, at: at + 1 })
  return token
}

function loseLast(h: Broken): void {
  const at = h.of('end')[0]!.at
  h.events.push({ ...request(h, 'read', { by: 't2' }), startedAt: at - 2, at: at - 1, result: 'unknown', status: null })
}
