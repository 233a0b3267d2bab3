/**
 * Caches API keys for at most one second. Does not check secrets. A change made through this store is visible immediately, and one made by
 * another process within one second, so a revoked key is refused everywhere within a second.
 */
import type { StoredApiKey } from '../store/queries/api-keys.ts'
import type { Answer } from './outcome.ts'

/** `readAt` is when the read started, by the monotonic clock. `key` is undefined if the key does not exist. */
export type FoundKey = { key: StoredApiKey | undefined; readAt: number }

export interface KeyCache {
  /** Rejects if the read fails. */
  find(keyId: string): Answer<FoundKey>
  clear(): void
}

export type KeyCacheOptions = {
  load: (keyId: string) => Promise<StoredApiKey | undefined>
  monotonicMs: () => number
}

type Reading = { key: Promise<StoredApiKey | undefined>; readAt: number }

// mutant: revoked-key-that-still-opens
const maxAgeMs = 1_000
// About 5 MB. If more keys are used within one second, they are read again.
const maxKeys = 10_000

/**
 * Simultaneous requests for one key share one read. Only keys that exist are cached: invented IDs can neither fill the memory nor evict a
 * valid key, and a new key works immediately.
 */
export function createKeyCache({ load, monotonicMs }: KeyCacheOptions): KeyCache {
  const kept = new Map<string, FoundKey>()
  const readings = new Map<string, Reading>()
  const isFresh = ({ readAt }: { readAt: number }): boolean => monotonicMs() - readAt < maxAgeMs

  function begin(keyId: string): Reading {
    const reading = { readAt: monotonicMs(), key: load(keyId) }
    readings.set(keyId, reading)
    return reading
  }

  async function end(keyId: string, reading: Reading): Promise<FoundKey> {
    try {
      const found = { key: await reading.key, readAt: reading.readAt }
      // A change may have arrived during the read. Its result serves the requests that were already waiting, and no later ones.
      if (found.key && readings.get(keyId) === reading) keep(keyId, found)
      return found
    } finally {
      if (readings.get(keyId) === reading) readings.delete(keyId)
    }
  }

  function keep(keyId: string, found: FoundKey): void {
    kept.delete(keyId)
    const oldest = kept.size >= maxKeys ? kept.keys().next() : undefined
    if (oldest?.done === false) kept.delete(oldest.value)
    kept.set(keyId, found)
  }

  return {
    find(keyId) {
      const known = kept.get(keyId)
      if (known && isFresh(known)) return known
      const underWay = readings.get(keyId)
      return end(keyId, underWay && isFresh(underWay) ? underWay : begin(keyId))
    },
    clear() {
      kept.clear()
      readings.clear()
    },
  }
}
