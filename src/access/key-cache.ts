/**
 * What was last read of each API key, at most a second old. Never judges a secret. A change made through this store is seen at once, one
 * made by another process within a second (surfaces: DELETE revokes on every process within a second).
 */
import type { StoredApiKey } from '../store/queries/api-keys.ts'
import type { Answer } from './outcome.ts'

/** `readAt` is when the read began, by the monotonic clock; `key` is undefined where there is no such key, or none any more. */
export type FoundKey = { key: StoredApiKey | undefined; readAt: number }

export interface KeyCache {
  /** Rejects as the read does. */
  find(keyId: string): Answer<FoundKey>
  clear(): void
}

export type KeyCacheOptions = {
  load: (keyId: string) => Promise<StoredApiKey | undefined>
  monotonicMs: () => number
}

type Reading = { key: Promise<StoredApiKey | undefined>; readAt: number }

const maxAgeMs = 1_000
// Some 5 MB; more keys than this in use within one second are read again.
const maxKeys = 10_000

/**
 * Requests that ask for one key at the same time share one read. Only keys that exist are kept: made-up ids can neither fill the memory nor
 * push out a good key, and a new key works at once.
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
      // A change may have come while the read was under way: what it brought serves those who asked before, and nobody after.
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
