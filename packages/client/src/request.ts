/**
 * One HTTP request and the meaning of its response: a body of the service, or an error. The API key is only put into the header. Redirects
 * are not followed, because the key would be sent along.
 */
import { distrustsCertificate } from './certificate.ts'
import { APIConnectionError, makeApiError } from './errors.ts'
import type { APIError } from './errors.ts'
import { readRetryAfter } from './retries.ts'
import { version } from './version.ts'
import type { Watch } from './watch.ts'
import { readFailure, readJson } from './wire.ts'

export type Outgoing = {
  method: 'GET' | 'POST'
  /** After the URL of the agent. */
  path: string
  accept: 'application/json' | 'text/event-stream'
  body?: string
  /** The key as bytes of a header. */
  idempotencyKey?: string
  /** The last event of a stream that the reader has, to continue after it. */
  lastEventId?: string
  /** Asks for the response before the turn has ended. */
  prefer?: 'respond-async'
  /** A status that is also a success, besides 200. */
  also?: 202 | 204
  /** The response must start within this number of milliseconds. Undefined: within the timeout of the attempt. */
  quietMs?: number
}

export type RateLimit = {
  /** Requests in one window. */
  limit: number
  /** Requests left in the window. */
  remaining: number
  resetAt: Date
}

/** A response with status 200, or `also`. Throws APIError for every other status, and APIConnectionError if there is no response. */
export type Send = (outgoing: Outgoing, watch: Watch) => Promise<Response>

type Origin = {
  agentUrl: string
  apiKey: string
  fetch: typeof globalThis.fetch | undefined
  onRateLimit: (rateLimit: RateLimit) => void
}

export function makeSend({ agentUrl, apiKey, fetch, onRateLimit }: Origin): Send {
  return async ({ method, path, accept, body, idempotencyKey, lastEventId, prefer, also, quietMs }, watch) => {
    const headers: Record<string, string> = {
      authorization: `Bearer ${apiKey}`,
      accept,
      'user-agent': `turnkeep-client/${version} (js)`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      ...(prefer === undefined ? {} : { prefer }),
    }
    const init = { method, headers, redirect: 'manual' as const, signal: watch.signal, ...(body === undefined ? {} : { body }) }
    // Called as a global function, because some runtimes refuse it as a method.
    const send = fetch ?? globalThis.fetch
    const response = await watch.hold(
      connected(() => send(`${agentUrl}${path}`, init)),
      quietMs,
    )
    const rateLimit = readRateLimit(response.headers)
    if (rateLimit) onRateLimit(rateLimit)
    if (response.status === 200 || response.status === also) return response
    throw await refusal(response, watch)
  }
}

/** The body of a successful response as JSON, converted by `read`. Throws APIConnectionError if it is incomplete or not from the service. */
export async function readBody<Result>(response: Response, watch: Watch, read: (value: unknown) => Result | undefined): Promise<Result> {
  const result = read(readJson(await watch.hold(connected(() => response.text()))))
  if (result === undefined) throw notOurs(response)
  return result
}

/** A successful response that is not from the service. */
export function notOurs(response: Response): APIConnectionError {
  const type = response.headers.get('content-type') ?? 'no content type'
  return new APIConnectionError(
    `An answer of ${response.status} (${type}) came that is not the service's: is baseURL right, or is a proxy in between?`,
  )
}

/** Converts an error of fetch or the body to a broken connection. If the watch ended the attempt, its reason was already thrown. */
export async function connected<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const what = distrustsCertificate(error) ? "The service's certificate is not trusted" : 'The connection failed'
    throw new APIConnectionError(`${what}: ${reasonOf(error)}`, { cause: error })
  }
}

/** "fetch failed" is not helpful, but its cause is. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given'
  const { cause } = error
  if (cause instanceof Error) return reasonOf(cause)
  // If several addresses were tried, Node's error has a code and no message.
  return error.message || ('code' in error && String(error.code)) || error.name
}

async function refusal(response: Response, watch: Watch): Promise<APIError> {
  const { status, headers } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    // The body is not needed. If it cannot be canceled, it ends by itself.
    await response.body?.cancel().catch(() => undefined)
    return makeApiError('A redirect came, which is not followed with an API key. Set baseURL to the address that it leads to.', { status })
  }
  // Read to its end, so that the connection can be used again.
  const failure = readFailure(readJson(await watch.hold(connected(() => response.text()))))
  const retryAfter = readRetryAfter(headers.get('retry-after'), Date.now())
  if (failure) return makeApiError(`${status} ${failure.code}: ${failure.message}`, { ...failure, status, retryAfter })
  const requestId = headers.get('x-request-id') ?? undefined
  return makeApiError(`${status}, and not by the service: is baseURL right, or is a proxy in between?`, { status, requestId, retryAfter })
}

/** Undefined if the response does not contain it, which is different from zero. */
function readRateLimit(headers: Headers): RateLimit | undefined {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN))
  if (limit === undefined || remaining === undefined || reset === undefined || Number.isNaN(limit + remaining + reset)) return undefined
  return { limit, remaining, resetAt: new Date(reset * 1_000) }
}
