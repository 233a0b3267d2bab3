/**
 * Sessions of the console: what stands for the admin token in a browser. The secret leaves once, for the cookie; the store gets a digest alone,
 * keyed by the admin token, so that a changed token ends every session. They lie in the store, so that one ends on every process at once. Rule
 * `session.ends`.
 */
import { createHmac } from 'node:crypto'
import type { RandomBytes } from '../access/api-key.ts'
import type { Ids } from '../ids.ts'
import type { Session } from '../store/queries/sessions.ts'
import type { AdminStore } from './admin-store.ts'

export type SessionsAdmin = {
  /** `secret` is for the cookie, and shown this once. */
  openSession(): Promise<{ secret: string; session: Session; lifetimeSeconds: number }>
  /** Undefined for a text that opens none, or none any more. */
  findSession(secret: string): Promise<Session | undefined>
  /** A second time changes nothing. */
  closeSession(id: string): Promise<void>
}

// A day's work: long enough to sign in once a day, short enough that a browser left open is nobody's door the next morning.
const lifetimeMs = 12 * 60 * 60 * 1000
const secretBytes = 32
// What 32 bytes become; anything else is not asked for in the store.
const secretForm = /^[\w-]{43}$/

type Options = { store: AdminStore; newId: Ids['newId']; randomBytes: RandomBytes; adminToken: string }

export function createSessionsAdmin({ store, newId, randomBytes, adminToken }: Options): SessionsAdmin {
  const digest = (secret: string): Uint8Array => createHmac('sha256', adminToken).update(`console session ${secret}`).digest()
  return {
    async openSession() {
      const secret = Buffer.from(randomBytes(secretBytes)).toString('base64url')
      const session = await store.write.openSession({ id: newId('ses'), digest: digest(secret), lifetimeMs })
      return { secret, session, lifetimeSeconds: lifetimeMs / 1000 }
    },
    findSession: async (secret) => (secretForm.test(secret) ? store.read.findSession(digest(secret)) : undefined),
    async closeSession(id) {
      await store.write.closeSession(id)
    },
  }
}
