/**
 * Slows down wrong passwords, and wrong responses of the identity provider, by account and by address (`operator.guesses`). After several wrong
 * ones, each further one makes the next wait longer, up to a fixed time, so no account is ever locked. A browser that has signed in before has
 * counts of its own: the guesses of others do not delay it. The counts are in the memory of this process, with a fixed maximum size.
 */
import { networkOf } from './guess-limit.ts'

/** `account`: undefined if it is not known yet. `knownBrowser` identifies a browser that has signed in to this account before. */
export type Guess = { account: string | undefined; address: string; knownBrowser: string | undefined }

export type SignInGuesses = {
  /**
   * Starts a guess. It counts as wrong until `right` is called, so that many at the same time are not one. Returns how many seconds it has to
   * wait instead, and then nothing is counted.
   */
  start(guess: Guess): { right(): void } | { waitSeconds: number }
}

/** `free`: how many wrong guesses wait for nothing. After them the wait doubles from a second to `maxWaitMs`. */
type Limit = { free: number; maxWaitMs: number }
type Count = { wrong: number; nextAt: number; forgetAt: number }

// An account gets at most 1,440 wrong guesses a day, and a network, which many people may share, at most 8,640.
const limits = {
  // mutant: operator.guesses
  account: { free: 10, maxWaitMs: 60_000 },
  network: { free: 30, maxWaitMs: 10_000 },
  browser: { free: 10, maxWaitMs: 60_000 },
} as const satisfies Record<string, Limit>
type Kind = keyof typeof limits

const forgetMs = 60 * 60 * 1000
// About a megabyte for each kind. When a map is full, the entry with the oldest guess is removed.
const maxEntries = 4096

export function createSignInGuesses(monotonicMs: () => number): SignInGuesses {
  const counts: Record<Kind, Map<string, Count>> = { account: new Map(), network: new Map(), browser: new Map() }

  function keysOf({ account, address, knownBrowser }: Guess): [Kind, string][] {
    // mutant: operator.guesses-2
    if (knownBrowser !== undefined) return [['browser', knownBrowser]]
    const network: [Kind, string] = ['network', networkOf(address)]
    return account === undefined ? [network] : [['account', account], network]
  }

  function find(kind: Kind, key: string): Count | undefined {
    const count = counts[kind].get(key)
    return count && count.forgetAt > monotonicMs() ? count : undefined
  }

  /** Returns a function that takes this guess back. */
  function add(kind: Kind, key: string): () => void {
    const { free, maxWaitMs } = limits[kind]
    const now = monotonicMs()
    const before = find(kind, key)
    const wrong = (before?.wrong ?? 0) + 1
    const waitMs = wrong < free ? 0 : Math.min(1000 * 2 ** Math.min(wrong - free, 30), maxWaitMs)
    const map = counts[kind]
    // Reinserted at the end, so that the first entry of the map stays the one with the oldest guess.
    map.delete(key)
    if (map.size >= maxEntries) map.delete(map.keys().next().value!)
    const count = { wrong, nextAt: now + waitMs, forgetAt: now + forgetMs }
    map.set(key, count)
    return () => {
      count.wrong--
      // A later guess has its own time.
      if (map.get(key) === count) count.nextAt = before?.nextAt ?? now
    }
  }

  return {
    start(guess) {
      const keys = keysOf(guess)
      const now = monotonicMs()
      const nextAt = Math.max(...keys.map(([kind, key]) => find(kind, key)?.nextAt ?? now))
      if (nextAt > now) return { waitSeconds: Math.ceil((nextAt - now) / 1000) }
      const takeBack = keys.map(([kind, key]) => add(kind, key))
      return { right: () => takeBack.forEach((undo) => undo()) }
    },
  }
}
