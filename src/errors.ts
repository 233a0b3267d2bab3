/**
 * Every error code that the service returns, with its HTTP status, default message and retry delay. docs/spec.md, "Errors", describes them
 * for callers. Code inside the service uses the same codes as the API. A message never contains a cause, SQL, a stack trace or text from a
 * provider.
 */

/**
 * `retryAfterSeconds` becomes the `Retry-After` header. Codes without it have no such header, except for `rate_limit_exceeded` and
 * `spend_limit_exceeded`, for which it is computed.
 */
type Failure = { status: number; message: string; retryAfterSeconds?: number }

export const failures = {
  invalid_api_key: { status: 401, message: 'The API key is missing or invalid.' },
  agent_mismatch: { status: 403, message: 'This API key belongs to a different agent.' },
  permission_denied: { status: 403, message: 'This API key is read-only. Sending messages requires a key with full permission.' },
  agent_disabled: { status: 403, message: 'This agent is disabled.' },
  agent_not_found: { status: 404, message: 'This agent no longer exists.' },
  validation_error: { status: 422, message: 'The request is invalid.' },
  idempotency_conflict: { status: 409, message: 'This Idempotency-Key was already used with a different request body.' },
  // A typical turn takes about 2 s. A shorter delay would cause useless retries, a longer one would be noticed by the user.
  idempotency_in_progress: { status: 409, message: 'The first request with this Idempotency-Key is still running.', retryAfterSeconds: 2 },
  conversation_busy: {
    status: 409,
    message: 'The previous message from this end user is still being processed.',
    retryAfterSeconds: 2,
  },
  // `Retry-After` is the time to the end of the window, if it ends.
  spend_limit_exceeded: { status: 402, message: 'A spend limit does not allow this reply now. Nothing was charged.' },
  insufficient_balance: { status: 402, message: "The owner's available balance is too low for this reply. Nothing was charged." },
  rate_limit_exceeded: {
    status: 429,
    message: 'This API key exceeded its rate limit. Retry after the number of seconds in the Retry-After header.',
  },
  api_rate_limit_unavailable: {
    status: 503,
    message: 'The rate limiter is unavailable. Retry with the same Idempotency-Key.',
    retryAfterSeconds: 5,
  },
  service_unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. Retry with the same Idempotency-Key.',
    retryAfterSeconds: 5,
  },
  turn_cancelled: { status: 409, message: 'This turn was cancelled before it had a reply.' },
  internal_error: { status: 500, message: 'The request failed because of an internal error. Give this request_id to the operator.' },
  not_found: { status: 404, message: 'This path or conversation does not exist.' },
  method_not_allowed: { status: 405, message: 'This path does not support this method.' },
  payload_too_large: { status: 413, message: 'The request body is larger than 1 MiB.' },
  bad_request: { status: 400, message: 'The request is not valid HTTP.' },
  unauthorized: { status: 401, message: 'The admin token is missing or invalid.' },
  forbidden: { status: 403, message: 'This operator or token may not do this.' },
  conflict: { status: 409, message: 'The request conflicts with the current state of the resource.' },
} as const satisfies Record<string, Failure>

export type FailureCode = keyof typeof failures
/** The codes that only the admin API returns. */
export const adminCodes: readonly FailureCode[] = ['unauthorized', 'forbidden', 'conflict']

export type ApiErrorOptions = {
  status?: number
  retryAfterSeconds?: number | undefined
  requestId?: string | undefined
  location?: string | undefined
  param?: string | undefined
}

/**
 * An error that ends the request. The HTTP layer writes it as the JSON error envelope. `message` replaces the default message of the code and
 * is shown to the caller; `options` override the status and the retry delay. `requestId`: of the turn that the error is about, in place of the
 * ID of the request. `location`: the path of a turn, as a header. `param`: the field of the request that the error is about, by its path in the
 * API, such as `price.prompt_usd_per_million`, or the name of a parameter. The admin API and OpenAI's API send it (`admin.param`).
 */
export class ApiError extends Error {
  readonly code: FailureCode
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly requestId: string | undefined
  readonly location: string | undefined
  readonly param: string | undefined

  constructor(code: FailureCode, message?: string, options: ApiErrorOptions = {}) {
    const failure: Failure = failures[code]
    super(message ?? failure.message)
    this.code = code
    this.status = options.status ?? failure.status
    this.retryAfterSeconds = options.retryAfterSeconds ?? failure.retryAfterSeconds
    this.requestId = options.requestId
    this.location = options.location
    this.param = options.param
  }
}

/**
 * `admin.param`: a `validation_error` about a field of the request, as `param` of ApiError names it, or with null about none. All of them are
 * made here, so that none of them is made without saying which.
 */
export const invalid = (param: string | null, message: string): ApiError =>
  new ApiError('validation_error', message, { param: param ?? undefined })
