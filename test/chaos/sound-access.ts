/** The part of the valid history that is about operators, sessions and tokens: each request, and each refusal with its reason. */
import type { AccessEvent, AccessRequest, HistoryEvent, StoredAccess } from './history.ts'

type Builder = { now(): number; write(event: HistoryEvent): void }
type About = Partial<Pick<AccessEvent, 'by' | 'operator' | 'role' | 'link' | 'password' | 'before' | 'session' | 'token' | 'operators'>>
type Outcome = { status?: number | null; startedAt?: number; audit?: string[] }

const [ann, bob, xia, yan] = ['ann@chaos.example', 'bob@chaos.example', 'xia@chaos.example', 'yan@chaos.example'] as const

/** Call it while something is broken: two requests have no response. */
export function writeAccess({ now, write }: Builder): void {
  const audit: StoredAccess['audit'] = []
  let requests = 0
  const idOf = (name: string): string => `id of ${name}`

  /** `audit`: `verb noun` of its entries. */
  function ask(what: AccessRequest, about: About, { status = 201, startedAt = now(), audit: adds = [] }: Outcome = {}): void {
    const requestId = `access ${++requests}`
    const name = about.operator ?? about.token
    for (const entry of adds) {
      const [verb = '', noun = ''] = entry.split(' ')
      const isOfSession = noun === 'session'
      audit.push({
        verb,
        noun,
        subjectId: isOfSession ? `ses_${requests}` : idOf(name!),
        authorId: isOfSession ? idOf(name!) : null,
        requestId,
        fields: what === 'password' ? ['password'] : verb === 'change' ? ['name'] : [],
        created: verb === 'create' ? name! : null,
      })
    }
    const result = status === null ? 'unknown' : status < 300 ? 'acknowledged' : 'refused'
    const isNew = result === 'acknowledged' && (what === 'invite' || what === 'create-token')
    const given = { by: null, ...about, ...(isNew && { id: idOf(name!) }) }
    write({
      kind: 'access',
      at: now(),
      startedAt,
      supervised: 0,
      what,
      result,
      status,
      requestId: status === null ? null : requestId,
      ...given,
    })
  }
  const manage = (what: AccessRequest, about: About, entry: string, outcome: Outcome = {}): void =>
    ask(what, { by: 'installation', ...about }, { audit: [entry], ...outcome })
  const read = (by: string, status = 200): void => ask('read', { by }, { status })
  const signIn = (password: string, session?: string): void =>
    session === undefined
      ? ask('sign-in', { operator: ann, password }, { status: 401 })
      : ask('sign-in', { operator: ann, password, session }, { audit: ['open session'] })
  const accepting = { audit: ['accept invitation', 'open session'] }

  manage('invite', { operator: ann, role: 'viewer', link: 'l1' }, 'create operator')
  const together = now()
  ask('accept', { operator: ann, link: 'l1', password: 'p0' }, { startedAt: together, status: 401 })
  ask('accept', { operator: ann, link: 'l1', password: 'p1', session: 's1' }, { startedAt: together, ...accepting })
  read('s1')
  signIn('p1', 's2')
  ask('password', { by: 's1', operator: ann, before: 'p1', password: 'p2' }, { audit: ['change operator'] })
  read('s2', 401)
  signIn('p1')
  read('s1')
  manage('role', { operator: ann, role: 'editor' }, 'change operator')
  read('s1', 401)
  signIn('p2', 's3')
  manage('end-sessions', { operator: ann }, 'end_sessions operator')
  manage('end-sessions', { operator: ann }, '', { audit: [] })
  read('s3', 401)
  signIn('p2', 's4')
  ask('sign-out', { by: 's4', operator: ann }, { audit: ['close session'] })
  read('s4', 401)
  manage('disable', { operator: ann }, 'change operator')
  signIn('p2')
  manage('enable', { operator: ann }, 'change operator')
  signIn('p2', 's5')
  manage('invite-again', { operator: ann, link: 'l2' }, 'invite operator')
  manage('invite-again', { operator: ann, link: 'l3' }, 'invite operator')
  ask('accept', { operator: ann, link: 'l2', password: 'p3' }, { status: 401 })
  ask('accept', { operator: ann, link: 'l3', password: 'p4', session: 's6' }, accepting)
  read('s5', 401)
  signIn('p2')
  // Neither has a response. The first one took effect.
  manage('disable', { operator: ann }, 'change operator', { status: null })
  manage('invite', { operator: bob, role: 'viewer', link: 'l4' }, '', { status: null, audit: [] })
  read('s6', 401)
  manage('remove', { operator: ann }, 'remove operator')
  signIn('p4')

  for (const [operator, link] of [
    [xia, 'l5'],
    [yan, 'l6'],
  ] as const) {
    manage('invite', { operator, role: 'admin', link }, 'create operator')
    ask('accept', { operator, link, session: `session of ${operator}` }, accepting)
  }
  const atOnce = now()
  manage('remove', { operator: xia }, 'remove operator', { startedAt: atOnce })
  manage('role', { operator: yan, role: 'viewer' }, '', { startedAt: atOnce, status: 409, audit: [] })
  const operators = [{ id: idOf(yan), email: yan, role: 'admin', state: 'active' }]
  ask('list', { by: 'installation', operators }, { status: 200 })

  for (const token of ['t1', 't2']) manage('create-token', { token }, 'create token')
  manage('create-token', { token: 't3' }, 'create token', { status: null })
  read('t1')
  manage('revoke-token', { token: 't1' }, 'revoke token')
  manage('revoke-token', { token: 't1' }, '', { audit: [] })
  read('t1', 401)
  read('t2')
  const tokens = ['t1', 't2', 't3'].map((name) => ({ id: idOf(name), name, isRevoked: name === 't1' }))
  write({ kind: 'stored', what: 'access', at: now(), operators, tokens, audit })
}
