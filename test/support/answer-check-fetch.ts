/**
 * Preloaded into every test file by test/run.ts: every response of the service that arrives by `fetch` is compared with its description,
 * and the fetch rejects if it differs. JSON bodies are read a second time. Event streams are skipped, because tests of disconnecting
 * callers disconnect.
 */
import { isMainThread } from 'node:worker_threads'
import type { hold, isHeld } from './answer-check-run.ts'

type Check = { hold: typeof hold; isHeld: typeof isHeld }

/** Loaded with the first response, so a file without requests does not pay for it. */
const checkOfRun = (): Promise<Check> => import('./answer-check-run.ts')

/** `fetch` with the check. */
export function holdFetch(fetch: typeof globalThis.fetch, checkOf = checkOfRun): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const url = new URL(response.url)
    const check = await checkOf()
    if (!check.isHeld(url, response.headers)) return response
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
    const isRead = response.headers.get('content-type')?.includes('json') && method !== 'HEAD'
    // An interrupted response is for its reader to notice.
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
