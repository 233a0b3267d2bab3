/**
 * Caches API keys for at most one second, and reads those that are wanted at the same time together. Does not check secrets. A change made
 * through this store is visible immediately, and one made by another process within one second, so a revoked key is refused everywhere
 * within a second. While the store does not answer, no change can be seen: a key that the store confirmed in the last five seconds counts
 * as it was then (`order.authentication`; docs/operate/postgresql.md, "While the database does not answer").
 */
import type { StoredApiKey } from '../store/queries/api-keys.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Answer } from './outcome.ts'

/** `readAt` is when the read started, by the monotonic clock. `key` is undefined if the key does not exist. */
export type FoundKey = { key: StoredApiKey | undefined; readAt: number }

export interface KeyCache {
  /** Rejects if the read fails. */
  find(keyId: string): Answer<FoundKey>
  clear(): void
}

export type KeyCacheOptions = {
  /** The keys in the order of their IDs; undefined for one that does not exist. */
  load: (keyIds: string[]) => Promise<(StoredApiKey | undefined)[]>
  monotonicMs: () => number
}

type Reading = { key: Promise<StoredApiKey | undefined>; readAt: number }
type Wanted = { keyId: string; resolve(key: StoredApiKey | undefined): void; reject(error: unknown): void }

// mutant: revoked-key-that-still-opens
const maxAgeMs = 1_000
// Long enough for a restart of the database, and short for a key that someone else has revoked meanwhile.
const maxUnconfirmedMs = 5_000
// About 5 MB. If more keys are used within one second, they are read again.
const maxKeys = 10_000
// Answered within milliseconds.
const maxBatch = 100

/**
 * Simultaneous requests for one key share one read. Only keys that exist are cached: invented IDs can neither fill the memory nor evict a
 * valid key, and a new key works immediately.
 */
export function createKeyCache({ load, monotonicMs }: KeyCacheOptions): KeyCache {
  const kept = new Map<string, FoundKey>()
  const readings = new Map<string, Reading>()
  const ageOf = ({ readAt }: { readAt: number }): number => monotonicMs() - readAt
  const isFresh = (one: { readAt: number }): boolean => ageOf(one) < maxAgeMs
  const batches = createBatches(load, monotonicMs)

  function begin(keyId: string): Reading {
    const reading = { readAt: monotonicMs(), key: batches.read(keyId, kept.has(keyId)) }
    readings.set(keyId, reading)
    return reading
  }

  async function end(keyId: string, reading: Reading): Promise<FoundKey> {
    try {
      const found = { key: await reading.key, readAt: reading.readAt }
      if (!found.key) kept.delete(keyId)
      // A change may have arrived during the read. Its result serves the requests that were already waiting, and no later ones.
      else if (readings.get(keyId) === reading) keep(keyId, found)
      return found
    } catch (error) {
      // Whatever has changed a key since its read has removed it from here.
      const known = kept.get(keyId)
      if (error instanceof StoreUnavailable && known && ageOf(known) < maxUnconfirmedMs) return known
      throw error
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
      batches.startOver()
    },
  }
}

/**
 * Reads keys, one batch after the other, those that were valid a moment ago first, so that no number of invented keys delays them. If a
 * batch fails, the keys that wait behind it fail too: they have waited for the same store. One that takes longer than a result may be used
 * delays no other.
 */
function createBatches(load: KeyCacheOptions['load'], monotonicMs: () => number) {
  const known: Wanted[] = []
  const others: Wanted[] = []
  let current: { since: number } | undefined

  async function readAll(): Promise<void> {
    const own = (current = { since: monotonicMs() })
    const isCurrent = (): boolean => current === own
    while (isCurrent() && known.length + others.length > 0) {
      own.since = monotonicMs()
      const batch = known.splice(0, maxBatch)
      batch.push(...others.splice(0, maxBatch - batch.length))
      try {
        const keys = await load(batch.map(({ keyId }) => keyId))
        for (const [index, { resolve }] of batch.entries()) resolve(keys[index])
      } catch (error) {
        const behind = isCurrent() ? [...known.splice(0), ...others.splice(0)] : []
        for (const { reject } of [...batch, ...behind]) reject(error)
      }
    }
    if (isCurrent()) current = undefined
  }

  return {
    read: (keyId: string, isKnown: boolean): Promise<StoredApiKey | undefined> =>
      new Promise((resolve, reject) => {
        const queue = isKnown ? known : others
        queue.push({ keyId, resolve, reject })
        if (!current || monotonicMs() - current.since >= maxAgeMs) void readAll()
      }),
    /** The next key is read without waiting for the batch that is under way. */
    startOver(): void {
      current = undefined
    },
  }
}
