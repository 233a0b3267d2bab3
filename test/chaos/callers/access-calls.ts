/**
 * One request about who has access (operators, invitations, sessions, admin tokens), which one server receives once. Records it with its
 * result, and returns what the caller learns from the response.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { AccessEvent, AccessRequest, History } from '../history.ts'
import type { Random } from '../random.ts'
import type { Target } from './about-turn.ts'
import { send } from './send.ts'
import type { Came } from './send.ts'

type Json = Record<string, any>

/** A session or a token, with the headers that a request sends to use it. */
export type Credential = { name: string; headers: Record<string, string> }

/** What the history says about the request, besides its response. */
export type About = Pick<AccessEvent, 'operator' | 'role' | 'link' | 'password' | 'before' | 'token'>

export type Asked = {
  what: AccessRequest
  /** Undefined: the request needs no sign-in. */
  by?: Credential
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: Json
  about: About
}

/** `session`: of a sign-in. */
export type Result = Pick<AccessEvent, 'result'> & { said: Json; session: Credential | undefined }

export type AccessCalls = {
  ask(asked: Asked, random: Random): Promise<Result>
  /** Reads its own account, which every session and token may. */
  read(by: Credential, random: Random): Promise<Result>
  /** A number that no other call of the run got. */
  next(): number
  /** The admin token of the installation. */
  installation: Credential
}

const patience: [number, number] = [4_000, 12_000]
// As long as a server takes to start again, with some time to spare.
const [maxTries, betweenMs] = [40, 250]

type AccessCallsOptions = { target: Target; history: History; counts: { access: number } }

export function createAccessCalls({ target, history, counts }: AccessCallsOptions): AccessCalls {
  let numbers = 0
  const next = (): number => ++numbers

  /** Again, to any server, as long as none has received it. */
  async function sendOnce({ by, method, path, body }: Omit<Asked, 'what' | 'about'>, random: Random) {
    for (let tries = 1; ; tries++) {
      const supervised = random.int(0, target.urls.length - 1)
      const startedAt = history.now()
      const came = await send({
        url: `${target.urls[supervised]}/admin/v1${path}`,
        method,
        headers: { ...by?.headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        connections: undefined,
        patienceMs: random.int(...patience),
        now: history.now,
      })
      if (!wasNotReceived(came) || tries === maxTries) return { supervised, startedAt, came }
      await pass(betweenMs)
    }
  }

  async function ask({ what, by, method, path, body, about }: Asked, random: Random): Promise<Result> {
    counts.access++
    const { supervised, startedAt, came } = await sendOnce({ by, method, path, body }, random)
    const result = resultOf(came)
    const said = result === 'acknowledged' && came.body !== null && came.body !== '' ? (JSON.parse(came.body) as Json) : {}
    const isSignIn = what === 'accept' || what === 'sign-in'
    const session = isSignIn && result === 'acknowledged' ? sessionOf(came, `session ${next()}`) : undefined
    history.write({
      kind: 'access',
      at: history.now(),
      startedAt,
      supervised,
      what,
      by: by?.name ?? null,
      result,
      status: came.status,
      requestId: came.headers['x-request-id'] ?? null,
      ...about,
      ...(session && { session: session.name }),
      ...((what === 'invite' || what === 'create-token') && result === 'acknowledged' && { id: String(said['id']) }),
      ...(what === 'list' && result === 'acknowledged' && { operators: (said['data'] as Json[]).map(readOperator) }),
    })
    return { result, said, session }
  }

  const installation = { name: 'installation', headers: { authorization: `Bearer ${target.adminToken}` } }
  const read: AccessCalls['read'] = (by, random) => ask({ what: 'read', by, method: 'GET', path: '/me', about: {} }, random)
  return { ask, read, next, installation }
}

export const readOperator = ({ id, email, role, state }: Json) => ({
  id: String(id),
  email: String(email),
  role: String(role),
  state: String(state),
})

const wasNotReceived = ({ end, error }: Came): boolean => end === 'broken' && error === 'ECONNREFUSED'

function resultOf(came: Came): AccessEvent['result'] {
  const { status, end } = came
  if (wasNotReceived(came)) return 'refused'
  // A refusal is known from its head. A success needs its whole body, which has the link or the token.
  if (status === null || status >= 500) return 'unknown'
  return status < 400 ? (end === 'whole' ? 'acknowledged' : 'unknown') : 'refused'
}

function sessionOf({ headers }: Came, name: string): Credential {
  const [, secret] = /turnkeep_session=([\w-]+)/.exec(headers['set-cookie'] ?? '') ?? []
  if (secret === undefined) throw new Error('a sign-in was acknowledged without a session')
  return { name, headers: { cookie: `turnkeep_session=${secret}`, 'x-turnkeep-console': '1' } }
}
