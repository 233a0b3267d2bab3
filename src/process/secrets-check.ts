/**
 * Refuses a start whose encryption keys open no stored secret, for example after a restore without `encryption.key`. The server would be
 * ready, and each message that needs a provider would fail.
 */
import { undecryptable } from '../config/secrets.ts'
import type { Store } from '../store/store.ts'

/** The message is one line for the operator. */
export class SecretsRefused extends Error {}

// More than an installation has.
const allProviders = { limit: 1000, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '~' } }

/** Throws SecretsRefused if no stored API key can be decrypted. `why`: a clause about the keys that are given. */
export async function checkSecrets(store: Store, keys: Uint8Array[], why: string): Promise<void> {
  const what = undecryptable(await store.read.listProviders(allProviders), keys)
  if (what === undefined) return
  throw new SecretsRefused(
    `${what}: ${why}. Restore the key that encrypted them, or set TURNKEEP_LOST_SECRETS=on to start without them and enter them again`,
  )
}
