/** Decides which failure is repeated with the same Idempotency-Key, and after which wait. docs/errors says the same for each code. */
import { distrustsCertificate } from './certificate.ts'
import { APIConnectionError, APIError } from './errors.ts'

/** `fails`: counts against `maxRetries`. `runs`: a turn is running, which only `maxWait` limits. */
export const codesSentAgain = {
  service_unavailable: 'fails',
  api_rate_limit_unavailable: 'fails',
  rate_limit_exceeded: 'fails',
  conversation_busy: 'runs',
  idempotency_in_progress: 'runs',
} as const satisfies Record<string, 'fails' | 'runs'>

/** Whether a code of the service is repeated. */
export const isSentAgain = (code: string): code is keyof typeof codesSentAgain => Object.hasOwn(codesSentAgain, code)

/** Undefined: never repeated. */
export function sentAgain(error: unknown): 'fails' | 'runs' | undefined {
  // An untrusted certificate does not become trusted by repeating.
  if (error instanceof APIConnectionError) return distrustsCertificate(error.cause) ? undefined : 'fails'
  if (!(error instanceof APIError)) return undefined
  if (error.code !== undefined) return isSentAgain(error.code) ? codesSentAgain[error.code] : undefined
  // Without a code it is the response of a proxy, which knows nothing about the turn.
  return error.status >= 500 || error.status === 408 || error.status === 429 ? 'fails' : undefined
}

const firstWaitMs = 500
// Long enough for a restart, short enough for a person who waits.
const maxWaitMs = 8_000
const maxJitterMs = 1_000

/**
 * Milliseconds before the next attempt. `sent` is the number of attempts before the one that failed, `random` is in [0, 1). Never less than
 * `retryAfter` seconds; a value of zero is ignored.
 */
export function waitMs(retryAfter: number | undefined, sent: number, random: number): number {
  if (retryAfter) return retryAfter * 1_000 + random * Math.min(maxJitterMs, retryAfter * 200)
  return Math.min(maxWaitMs, firstWaitMs * 2 ** sent) * (1 - random / 2)
}

/** Parses Retry-After to seconds, from a number or an HTTP date. Undefined if the header is missing or invalid. */
export function readRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const text = header.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  const date = /[a-z]/i.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, (date - nowMs) / 1_000)
}
