/**
 * Sessions of the console: a sign-in of an operator, or of the admin token, in one browser. The secret is only in the cookie, and the store
 * keeps a digest of it. The digest of a session of the admin token is keyed with that token, so a changed token ends those sessions. Sessions
 * are in the store, so a sign-out or a changed role applies to every process immediately (`session.ends`, `operator.change`).
 */
import { createHmac, hash } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import { ApiError } from '../errors.ts'
import type { Ids } from '../ids.ts'
import { adminTokenPrincipal, permissionsOf } from '../operators/principal.ts'
import type { Principal } from '../operators/principal.ts'
import type { Session, SessionOfOperator, SignInMethod } from '../store/queries/sessions.ts'
import type { PerRequest } from './admin-store.ts'

/** `replaces`: the session of the same browser, which ends. */
export type SignIn = { address: string | null; userAgent: string | null; replaces: string | null } & (
  | { method: 'admin_token' }
  | { method: Exclude<SignInMethod, 'admin_token'>; operatorId: string; checkedAt: number }
)

export type SessionsAdmin = {
  /**
   * `secret` is for the cookie and returned only once. Throws ApiError `unauthorized` if the operator is not active, with the message of a
   * wrong password.
   */
  openSession(signIn: SignIn): Promise<{ secret: string; session: Session; lifetimeSeconds: number }>
  /** Returns undefined for a secret without a session, or whose session has ended. */
  findSession(secret: string): Promise<{ session: Session; principal: Principal } | undefined>
  /** For open responses: whose sessions these secrets are now, with one read. */
  findPrincipalsOfSessions(secrets: string[]): Promise<Map<string, Principal>>
  /** The sessions of an operator, newest first. */
  listSessions(operatorId: string): Promise<Session[]>
  /** Returns whether there was one. With `operatorId`, only a session of this operator is closed. */
  closeSession(id: string, operatorId?: string): Promise<boolean>
  /** Closes all sessions of an operator but `keep`. */
  closeSessions(operatorId: string, keep?: string): Promise<void>
}

// A working day: long enough to sign in once a day, short enough that a browser left open is signed out the next morning.
const lifetimeMs = 12 * 60 * 60 * 1000
const secretBytes = 32
// The length of 32 encoded bytes. Anything else is refused without asking the store.
const secretForm = /^[\w-]{43}$/
// Enough to recognize a browser.
const maxUserAgent = 300

type Options = { newId: Ids['newId']; randomBytes: RandomBytes; adminToken: string }

export function createSessionsAdmin({ newId, randomBytes, adminToken }: Options): PerRequest<SessionsAdmin> {
  // mutant: session.ends
  const digestOfToken = (secret: string): Uint8Array => createHmac('sha256', adminToken).update(`console session ${secret}`).digest()
  const digest = (secret: string): Uint8Array => hash('sha256', `console session ${secret}`, 'buffer')
  return {
    async openSession({ accounts: store }, { method, address, userAgent, replaces, ...signIn }) {
      const secret = Buffer.from(randomBytes(secretBytes)).toString('base64url')
      const operatorId = 'operatorId' in signIn ? signIn.operatorId : null
      const session = await store.write.openSession({
        id: newId('ses'),
        digest: operatorId === null ? digestOfToken(secret) : digest(secret),
        operatorId,
        checkedAt: 'checkedAt' in signIn ? signIn.checkedAt : null,
        method,
        address,
        userAgent: userAgent?.slice(0, maxUserAgent) ?? null,
        lifetimeMs,
        replaces,
      })
      if (!session) throw new ApiError('unauthorized', wrongSignIn)
      return { secret, session, lifetimeSeconds: lifetimeMs / 1000 }
    },
    async findSession({ accounts: store }, secret) {
      if (!secretForm.test(secret)) return undefined
      const found = await store.read.findSession(digest(secret), digestOfToken(secret))
      if (!found) return undefined
      const { operator, ...session } = found
      return { session, principal: principalOfSession(operator) }
    },
    async findPrincipalsOfSessions({ accounts: store }, secrets) {
      if (secrets.length === 0) return new Map()
      const found = await store.read.findSessions(secrets.map((secret) => ({ digest: digest(secret), ofToken: digestOfToken(secret) })))
      return new Map(secrets.flatMap((secret, at) => (found[at] ? [[secret, principalOfSession(found[at].operator)] as const] : [])))
    },
    listSessions: ({ accounts: store }, operatorId) => store.read.listSessions(operatorId),
    closeSession: ({ accounts: store }, id, operatorId) => store.write.closeSession(id, operatorId),
    async closeSessions({ accounts: store }, operatorId, keep) {
      await store.write.endSessions(operatorId, keep)
    },
  }
}

const principalOfSession = (operator: SessionOfOperator['operator']): Principal =>
  operator ? principalOf('operator', operator) : adminTokenPrincipal

/** The same for every reason, so that no one learns which accounts exist. */
export const wrongSignIn = 'The email address or the password is wrong, or the account cannot sign in this way.'

type Access = { id: string; name: string; role: Parameters<typeof permissionsOf>[0]; permissions: Parameters<typeof permissionsOf>[1] }

export function principalOf(
  who: 'operator' | 'token',
  { id, name, role, permissions, ownerId, agentId = null }: Access & { ownerId: string | null; agentId?: string | null },
): Principal {
  return { who, id, name, role, permissions: permissionsOf(role, permissions), scope: ownerId === null ? null : { ownerId, agentId } }
}
