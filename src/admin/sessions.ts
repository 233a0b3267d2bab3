/**
 * Sessions of the console, which represent the admin token in a browser. The secret is only in the cookie. The store keeps a digest of it,
 * keyed by the admin token, so a changed token ends every session. Sessions are in the store, so a sign-out applies to every process
 * immediately (`session.ends`).
 */
import { createHmac } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import type { Ids } from '../ids.ts'
import type { Session } from '../store/queries/sessions.ts'
import type { AdminStore } from './admin-store.ts'

export type SessionsAdmin = {
  /** `secret` is for the cookie and returned only once. */
  openSession(): Promise<{ secret: string; session: Session; lifetimeSeconds: number }>
  /** Returns undefined for a secret without a session, or whose session has ended. */
  findSession(secret: string): Promise<Session | undefined>
  /** Closing again has no effect. */
  closeSession(id: string): Promise<void>
}

// A working day: long enough to sign in once a day, short enough that a browser left open is signed out the next morning.
const lifetimeMs = 12 * 60 * 60 * 1000
const secretBytes = 32
// The length of 32 encoded bytes. Anything else is refused without asking the store.
const secretForm = /^[\w-]{43}$/

type Options = { store: AdminStore; newId: Ids['newId']; randomBytes: RandomBytes; adminToken: string }

export function createSessionsAdmin({ store, newId, randomBytes, adminToken }: Options): SessionsAdmin {
  const digest = (secret: string): Uint8Array => createHmac('sha256', adminToken).update(`console session ${secret}`).digest()
  return {
    async openSession() {
      const secret = Buffer.from(randomBytes(secretBytes)).toString('base64url')
      const session = await store.write.openSession({
        id: newId('ses'),
        digest: digest(secret),
        operatorId: null,
        method: 'admin_token',
        address: null,
        userAgent: null,
        lifetimeMs,
      })
      return { secret, session, lifetimeSeconds: lifetimeMs / 1000 }
    },
    findSession: async (secret) => (secretForm.test(secret) ? store.read.findSession(digest(secret)) : undefined),
    async closeSession(id) {
      await store.write.closeSession(id)
    },
  }
}
