/**
 * The failure table: every code the service answers with, its HTTP status, its wording and when to come back.
 * Specification section 7 and the additions of the rulings. Wire code and internal code are the same word.
 * An error's text never carries a cause, SQL, a stack or a provider's words.
 */

/** `retryAfterSeconds` is sent as `Retry-After`; where it is absent the limiter computes it or the caller must not retry. */
type Failure = { status: number; message: string; retryAfterSeconds?: number }

export const failures = {
  invalid_api_key: { status: 401, message: 'The API key is missing or not valid.' },
  agent_mismatch: { status: 403, message: 'This API key is bound to another agent.' },
  permission_denied: { status: 403, message: 'This API key is read-only; sending messages needs a key with full permission.' },
  agent_disabled: { status: 403, message: 'This agent is switched off.' },
  agent_not_found: { status: 404, message: 'This agent no longer exists.' },
  validation_error: { status: 422, message: 'The request is not valid.' },
  idempotency_conflict: { status: 409, message: 'This Idempotency-Key was already used with a different body.' },
  // 2 s: a typical turn's length; long enough not to hammer, short enough to feel immediate (rulings, Retry-After).
  idempotency_in_progress: { status: 409, message: 'The first request with this Idempotency-Key is still running.', retryAfterSeconds: 2 },
  conversation_busy: { status: 409, message: 'The previous message of this external user is still being answered.', retryAfterSeconds: 2 },
  insufficient_balance: { status: 402, message: "The owner's balance cannot cover the reply. Nothing was charged." },
  rate_limit_exceeded: { status: 429, message: 'The rate limit of this API key is exceeded. Try again later.' },
  api_rate_limit_unavailable: {
    status: 503,
    message: 'The rate limiter is unavailable. Try again with the same Idempotency-Key.',
    retryAfterSeconds: 5,
  },
  service_unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. Try again with the same Idempotency-Key.',
    retryAfterSeconds: 5,
  },
  internal_error: { status: 500, message: 'The request could not be completed.' },
  not_found: { status: 404, message: 'There is no such address or conversation.' },
  method_not_allowed: { status: 405, message: 'This method is not allowed here.' },
  payload_too_large: { status: 413, message: 'The request body is larger than 1 MiB.' },
  bad_request: { status: 400, message: 'The request could not be understood.' },
  unauthorized: { status: 401, message: 'The admin token is missing or not valid.' },
  conflict: { status: 409, message: 'The request conflicts with the present state.' },
} as const satisfies Record<string, Failure>

export type FailureCode = keyof typeof failures

/** A failure that ends the request; the door turns it into the envelope. `message` replaces the table's sentence and is shown to the caller. */
export class ApiError extends Error {
  readonly code: FailureCode
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(code: FailureCode, message?: string, options: { status?: number; retryAfterSeconds?: number } = {}) {
    const failure: Failure = failures[code]
    super(message ?? failure.message)
    this.code = code
    this.status = options.status ?? failure.status
    this.retryAfterSeconds = options.retryAfterSeconds ?? failure.retryAfterSeconds
  }
}
