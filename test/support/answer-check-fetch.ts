/**
 * Preloaded into every test file by test/run.ts: an answer of our service that comes by `fetch` is held against its description, and the fetch
 * rejects where it differs. A body of JSON is read once more beside its reader; an event stream is left alone, since callers who leave are
 * tested by leaving it.
 */
import { isMainThread } from 'node:worker_threads'
import type { hold, isHeld } from './answer-check-run.ts'

type Check = { hold: typeof hold; isHeld: typeof isHeld }

/** Loaded with the first answer: a file that asks nobody pays nothing. */
const checkOfRun = (): Promise<Check> => import('./answer-check-run.ts')

/** `fetch` with the check behind it. */
export function holdFetch(fetch: typeof globalThis.fetch, checkOf = checkOfRun): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const url = new URL(response.url)
    const check = await checkOf()
    if (!check.isHeld(url, response.headers)) return response
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
    const isRead = response.headers.get('content-type')?.includes('json') && method !== 'HEAD'
    // One that breaks off is its reader's to find.
    const text = isRead
      ? await response
          .clone()
          .text()
          .catch(() => undefined)
      : undefined
    check.hold({ method, path: url.pathname, status: response.status, headers: response.headers, text })
    return response
  }
}

/** For the test of the check itself. */
export const fetchUnheld = globalThis.fetch

// The threads of a store are started with the same arguments.
if (isMainThread) globalThis.fetch = holdFetch(globalThis.fetch)
