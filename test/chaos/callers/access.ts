/**
 * The operators of a run, besides the one that changes settings (operator.ts): a person who is invited, signs in, is changed and removed, two
 * admins who try to remove each other, and a program with an admin token. They make few requests, because each password costs the server a
 * third of a second of work. Each ending of a session or token is followed by requests with it. None of them judges a response.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { AccessEvent, History, StoredAccess } from '../history.ts'
import type { Random } from '../random.ts'
import type { Target } from './about-turn.ts'
import { createAccessCalls, readOperator } from './access-calls.ts'
import type { AccessCalls, Asked, Credential, Result } from './access-calls.ts'
import type { Admin } from './operator.ts'

export type AccessOptions = { target: Target; history: History; random: Random; stopped: AbortSignal }

/** Resolves after `stopped`, when each request in progress has its response. */
export async function useAccess({ target, history, random, stopped }: AccessOptions, counts: { access: number }): Promise<void> {
  const calls = createAccessCalls({ target, history, counts })
  const shared = { calls, stopped, managers: [calls.installation] }
  await Promise.all([
    people({ ...shared, random: random.fork('people') }),
    rivals({ ...shared, random: random.fork('rivals') }),
    programs({ ...shared, random: random.fork('programs') }),
  ])
}

/** `managers`: with what operators are managed: the admin token, and tokens with the role admin that may be revoked. */
type Shared = { calls: AccessCalls; stopped: AbortSignal; managers: Credential[]; random: Random }

const pauseMs: [number, number] = [400, 1600]
const rest = (random: Random, stopped: AbortSignal, [from, to] = pauseMs): Promise<void> =>
  pass(random.int(from, to), undefined, { signal: stopped }).catch(() => undefined)

type Person = { email: string; id: string; role: string; link: string; sessions: Credential[]; ended: Credential[]; passwords: string[] }

const roles = ['editor', 'billing', 'viewer']
const actsPerPerson: [number, number] = [5, 12]
const enableTries = 5

function createOperatorActions({ calls, managers, random }: Omit<Shared, 'stopped'>) {
  const manage = (asked: Omit<Asked, 'by'>): Promise<Result> => calls.ask({ ...asked, by: random.pick(managers) }, random)
  const about = ({ email }: Person) => ({ operator: email })
  const newPassword = (): string => `a lamp in attic number ${calls.next()}`
  const tokens = new Map<string, string>()
  const linkOf = (said: Result['said']): string => String(said['invitation_url']).split('#')[1]!

  /** Undefined if the response did not arrive. */
  async function invite(role: string): Promise<Person | undefined> {
    const email = `person-${calls.next()}@chaos.example`
    const body = { email, name: 'Person', role }
    const link = `link of ${email}`
    const { result, said } = await manage({
      what: 'invite',
      method: 'POST',
      path: '/operators',
      body,
      about: { operator: email, role, link },
    })
    if (result !== 'acknowledged') return undefined
    tokens.set(link, linkOf(said))
    return { email, id: String(said['id']), role, link, sessions: [], ended: [], passwords: [] }
  }

  async function inviteAgain(person: Person): Promise<void> {
    const link = `link ${calls.next()} of ${person.email}`
    const path = `/operators/${person.id}/invite`
    const { said, result } = await manage({ what: 'invite-again', method: 'POST', path, body: {}, about: { ...about(person), link } })
    if (result !== 'acknowledged') return
    tokens.set(link, linkOf(said))
    person.link = link
  }

  /** Two clients use the link at the same time. */
  async function accept(person: Person, withPassword: boolean): Promise<void> {
    const { link } = person
    const passwords = [newPassword(), newPassword()]
    const results = await Promise.all(
      passwords.map(async (password, at) => {
        const given = withPassword ? { password } : {}
        const body = { token: tokens.get(link)!, ...given }
        const path = '/session/invitation'
        return calls.ask({ what: 'accept', method: 'POST', path, body, about: { ...about(person), link, ...given } }, random.fork(`${at}`))
      }),
    )
    const [winner] = results.flatMap(({ session }) => session ?? [])
    const possible = passwords.filter((_, at) => results[at]!.result === (winner ? 'acknowledged' : 'unknown'))
    if (winner) endAll(person)
    if (winner) person.sessions = [winner]
    if (withPassword) person.passwords = winner ? possible : [...person.passwords, ...possible]
  }

  async function signIn(person: Person): Promise<void> {
    for (const password of person.passwords) {
      const body = { email: person.email, password }
      const { session } = await calls.ask(
        { what: 'sign-in', method: 'POST', path: '/session', body, about: { ...about(person), password } },
        random,
      )
      if (!session) continue
      person.sessions.push(session)
      person.passwords = [password]
      return
    }
  }

  const read = (by: Credential): Promise<Result> => calls.read(by, random)

  function endAll(person: Person): void {
    person.ended.push(...person.sessions)
    person.sessions = []
  }

  /** With what has been ended, at any servers. */
  async function probe(person: Person): Promise<void> {
    await Promise.all(person.ended.slice(-2).map(read))
  }

  const change = (person: Person, what: 'role' | 'disable' | 'enable', body: object, role?: string): Promise<Result> =>
    manage({
      what,
      method: 'PATCH',
      path: `/operators/${person.id}`,
      // With a name of its own, each change is one, and has an audit entry.
      body: { ...body, name: `Person ${calls.next()}` },
      about: { ...about(person), ...(role !== undefined && { role }) },
    })

  const remove = (person: Person): Promise<Result> =>
    manage({ what: 'remove', method: 'DELETE', path: `/operators/${person.id}`, about: about(person) })

  return { calls, manage, about, newPassword, invite, inviteAgain, accept, signIn, read, endAll, probe, change, remove }
}
type OperatorActions = ReturnType<typeof createOperatorActions>

/** One person after the other, from the invitation to the removal. */
async function people({ stopped, ...shared }: Shared): Promise<void> {
  const { random } = shared
  const operators = createOperatorActions(shared)
  while (!stopped.aborted) {
    await rest(random, stopped)
    const person = await operators.invite(random.pick(roles))
    if (!person) continue
    await operators.accept(person, true)
    const acts = actsOf(operators, person, random)
    for (let left = random.int(...actsPerPerson); left > 0 && !stopped.aborted; left--) {
      await rest(random, stopped)
      if (person.sessions.length === 0) await operators.signIn(person)
      if (person.sessions.length === 0) await acts.acceptAgain()
      else await acts[random.pick(weights)]()
    }
    await operators.remove(person)
    operators.endAll(person)
    await operators.probe(person)
    if (random.chance(0.3)) await operators.signIn(person)
  }
}

// Those that a password is part of are rare.
const weights = ['look', 'look', 'signOut', 'endSessions', 'changeRole', 'disable', 'changePassword', 'acceptAgain', 'signIn'] as const

function actsOf(operators: OperatorActions, person: Person, random: Random): Record<(typeof weights)[number], () => Promise<void>> {
  const { calls } = operators

  async function ending(end: () => Promise<Result>): Promise<void> {
    const { result } = await end()
    // Without a response, the next request shows whether they have ended.
    if (result === 'acknowledged') operators.endAll(person)
    await operators.probe(person)
  }

  return {
    async look() {
      const by = random.pick(person.sessions)
      const { result } = await operators.read(by)
      if (result === 'refused') person.sessions = person.sessions.filter((one) => one !== by)
    },
    signIn: () => operators.signIn(person),
    async signOut() {
      const by = person.sessions.pop()!
      await calls.ask({ what: 'sign-out', by, method: 'DELETE', path: '/session', about: operators.about(person) }, random)
      person.ended.push(by)
      await operators.probe(person)
    },
    endSessions: () =>
      ending(() =>
        operators.manage({
          what: 'end-sessions',
          method: 'DELETE',
          path: `/operators/${person.id}/sessions`,
          about: operators.about(person),
        }),
      ),
    changeRole() {
      person.role = random.pick(roles.filter((role) => role !== person.role))
      return ending(() => operators.change(person, 'role', { role: person.role }, person.role))
    },
    async disable() {
      await ending(() => operators.change(person, 'disable', { enabled: false }))
      if (random.chance(0.5)) await operators.signIn(person)
      for (let tries = 0; tries < enableTries; tries++)
        if ((await operators.change(person, 'enable', { enabled: true })).result === 'acknowledged') return
    },
    async changePassword() {
      const [by, password, before] = [person.sessions[0]!, operators.newPassword(), person.passwords[0]!]
      const body = { current_password: before, new_password: password }
      const about = { ...operators.about(person), password, before }
      const { result } = await calls.ask({ what: 'password', by, method: 'PUT', path: '/me/password', body, about }, random)
      if (result === 'unknown') person.passwords.push(password)
      if (result !== 'acknowledged') return
      person.passwords = [password]
      person.ended.push(...person.sessions.splice(1))
      await operators.probe(person)
    },
    async acceptAgain() {
      await operators.inviteAgain(person)
      await operators.accept(person, true)
      await operators.probe(person)
    },
  }
}

const rivalPauseMs: [number, number] = [2000, 5000]

/** Two admins, who are both taken out at the same time, in one way or another. One must be left. */
async function rivals({ stopped, ...shared }: Shared): Promise<void> {
  const { random, calls } = shared
  const operators = createOperatorActions(shared)
  const known = new Map<string, Person>()
  const takeOut = [
    (person: Person) => operators.remove(person),
    (person: Person) => operators.change(person, 'disable', { enabled: false }),
    (person: Person) => operators.change(person, 'role', { role: 'viewer' }, 'viewer'),
  ]
  while (!stopped.aborted) {
    await rest(random, stopped, rivalPauseMs)
    const active = await activeAdmins()
    if (active.length >= 2) {
      await Promise.all(random.shuffle(active).map((person) => random.pick(takeOut)(person)))
      const left = await activeAdmins()
      // All admins must fit on the first page of the list.
      for (const person of active) if (!left.includes(person)) await operators.remove(person)
      continue
    }
    const person = await operators.invite('admin')
    if (!person) continue
    known.set(person.email, person)
    await operators.accept(person, false)
  }

  async function activeAdmins(): Promise<Person[]> {
    const by = calls.installation
    const { said } = await calls.ask({ what: 'list', by, method: 'GET', path: '/operators?limit=100', about: {} }, random)
    const list = ((said['data'] ?? []) as AccessEvent['operators'])!
    return list.filter(({ role, state }) => role === 'admin' && state === 'active').flatMap(({ email }) => known.get(email) ?? [])
  }
}

/** One token after the other. Some of them manage operators meanwhile. */
async function programs({ calls, stopped, managers, random }: Shared): Promise<void> {
  const read = (by: Credential): Promise<Result> => calls.read(by, random)
  while (!stopped.aborted) {
    await rest(random, stopped)
    const [name, role] = [`token ${calls.next()}`, random.pick(['admin', 'viewer'])]
    const by = calls.installation
    const { result, said } = await calls.ask(
      { what: 'create-token', by, method: 'POST', path: '/tokens', body: { name, role }, about: { token: name } },
      random,
    )
    if (result !== 'acknowledged') continue
    const token = { name, headers: { authorization: `Bearer ${String(said['token'])}` } }
    if (role === 'admin') managers.push(token)
    for (let times = random.int(1, 3); times > 0; times--) {
      await rest(random, stopped)
      await read(token)
    }
    const revoke = (): Promise<Result> =>
      calls.ask({ what: 'revoke-token', by, method: 'DELETE', path: `/tokens/${String(said['id'])}`, about: { token: name } }, random)
    await Promise.all(random.chance(0.3) ? [revoke(), revoke()] : [revoke()])
    await read(token)
    await rest(random, stopped)
    await read(token)
    // Others use it until here.
    if (role === 'admin') managers.splice(managers.indexOf(token), 1)
  }
}

const nouns = ['operator', 'invitation', 'session', 'token']

/** What is stored when no one makes changes any more. */
export async function readAccess({ admin, history }: { admin: Admin; history: History }): Promise<void> {
  const operators = (await admin.all('/operators')).map(readOperator)
  const tokens = (await admin.all('/tokens')).map(({ id, name, revoked_at: revokedAt }) => ({
    id: String(id),
    name: String(name),
    isRevoked: revokedAt !== null,
  }))
  const audit: StoredAccess['audit'] = []
  for (const noun of nouns)
    for (const { verb, subject_id, author_id, request_id, fields, changes } of await admin.all(`/audit?noun=${noun}`)) {
      const created = verb === 'create' ? String((changes['email'] ?? changes['name'])['after']) : null
      audit.push({ verb, noun, subjectId: subject_id, authorId: author_id, requestId: request_id, fields, created })
    }
  history.write({ kind: 'stored', what: 'access', at: history.now(), operators, tokens, audit })
}
