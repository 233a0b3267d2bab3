/**
 * Preloaded into every test file by test/run.ts: every response of the service that arrives by `fetch` is compared with its description,
 * and the fetch rejects if it differs. JSON bodies are read a second time. Event streams are skipped, because tests of disconnecting
 * callers disconnect. It also keeps idle connections for a shorter time than the service does.
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

const idleMs = 20_000

/**
 * `fetch` keeps an idle connection as long as the service allows, less two seconds. If a busy machine delays a process by that much, the
 * service closes the connection first, and a request that was just sent on it fails. With this limit, `fetch` closes it almost a
 * minute earlier.
 */
function closeIdleConnectionsEarly(): void {
  const name = Symbol.for('undici.globalDispatcher.1')
  // Node loads its client, and sets the dispatcher, when one of its classes is used.
  void globalThis.Headers
  const globals = globalThis as unknown as Record<symbol, { constructor: new (options: { keepAliveMaxTimeout: number }) => never }>
  globals[name] = new globals[name]!.constructor({ keepAliveMaxTimeout: idleMs })
}

/** Node's client takes a while to load, and not every file uses it. */
function onFirstUse(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let isUsed = false
  return (input, init) => {
    if (!isUsed) closeIdleConnectionsEarly()
    isUsed = true
    return fetch(input, init)
  }
}

// The threads of a store are started with the same arguments.
if (isMainThread) globalThis.fetch = holdFetch(onFirstUse(globalThis.fetch))
