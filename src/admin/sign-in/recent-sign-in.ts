/** What gives lasting access to an account requires a recent sign-in, so that a browser that was left open is not enough. */
import { ApiError } from '../../errors.ts'
import type { AdminStore } from '../admin-store.ts'

/** The session that a request was made with. */
export type OwnSession = { id: string; createdAt: number }

const recentMs = 15 * 60 * 1000

/** Throws ApiError `forbidden` for a session that is older than 15 minutes by the store's clock. */
export async function recentSignIn(store: AdminStore, { createdAt }: OwnSession): Promise<void> {
  const now = await store.read.storeTime()
  if (now - createdAt > recentMs)
    throw new ApiError('forbidden', 'Sign in again to do this: your last sign-in was more than 15 minutes ago.')
}
