/**
 * The errors of the client: one class for each status of the error table, and two for requests without a response. Never contains the API
 * key.
 */

/** The base class of all errors of this client. With `idempotencyKey`, the same message can be sent again, later and from anywhere. */
export class TurnkeepError extends Error {
  declare readonly idempotencyKey?: string | undefined
  override get name(): string {
    return 'TurnkeepError'
  }
}

export type APIErrorDetails = {
  /** The code of the error table. Undefined if the response came from a proxy. */
  code?: string | undefined
  status: number
  requestId?: string | undefined
  /** Seconds. */
  retryAfter?: number | undefined
}

/** The service refused the call, or a proxy did: then `code` is undefined. */
export class APIError extends TurnkeepError {
  readonly code: string | undefined
  /** The HTTP status; for a stream that failed, the status of its code. */
  readonly status: number
  readonly requestId: string | undefined
  /** Seconds to wait, from the response. */
  readonly retryAfter: number | undefined
  override get name(): string {
    return 'APIError'
  }

  constructor(message: string, { code, status, requestId, retryAfter }: APIErrorDetails) {
    super(message)
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

export class BadRequestError extends APIError {
  override get name(): string {
    return 'BadRequestError'
  }
}
export class AuthenticationError extends APIError {
  override get name(): string {
    return 'AuthenticationError'
  }
}
export class InsufficientBalanceError extends APIError {
  override get name(): string {
    return 'InsufficientBalanceError'
  }
}
/** 402 `spend_limit_exceeded`. `retryAfter`: seconds to the end of the window, undefined if it never ends. */
export class SpendLimitError extends APIError {
  override get name(): string {
    return 'SpendLimitError'
  }
}
export class PermissionDeniedError extends APIError {
  override get name(): string {
    return 'PermissionDeniedError'
  }
}
export class NotFoundError extends APIError {
  override get name(): string {
    return 'NotFoundError'
  }
}
export class ConflictError extends APIError {
  override get name(): string {
    return 'ConflictError'
  }
}
export class ValidationError extends APIError {
  override get name(): string {
    return 'ValidationError'
  }
}
export class RateLimitError extends APIError {
  override get name(): string {
    return 'RateLimitError'
  }
}
export class InternalServerError extends APIError {
  override get name(): string {
    return 'InternalServerError'
  }
}
export class ServiceUnavailableError extends APIError {
  override get name(): string {
    return 'ServiceUnavailableError'
  }
}

/**
 * There was no response of the service: the connection failed or broke, or the response was not from the service. The turn may have run.
 */
export class APIConnectionError extends TurnkeepError {
  override get name(): string {
    return 'APIConnectionError'
  }
}

/** There was no response in time. The turn may have run. */
export class APIConnectionTimeoutError extends APIConnectionError {
  override get name(): string {
    return 'APIConnectionTimeoutError'
  }
}

/** The caller's signal, or the end of reading a stream, ended the call. The turn may continue. */
export class APIUserAbortError extends TurnkeepError {
  override get name(): string {
    return 'APIUserAbortError'
  }
}

const classes: Record<number, typeof APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: InsufficientBalanceError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
  500: InternalServerError,
  503: ServiceUnavailableError,
}

/** The class for a status. Other statuses from 500 on are an InternalServerError. */
export function makeApiError(message: string, details: APIErrorDetails): APIError {
  const Class =
    details.code === 'spend_limit_exceeded'
      ? SpendLimitError
      : (classes[details.status] ?? (details.status >= 500 ? InternalServerError : APIError))
  return new Class(message, details)
}
