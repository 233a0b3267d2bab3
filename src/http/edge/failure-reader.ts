/** What anything thrown under a request becomes: an ApiError. The only place where an unknown error is logged; its text never leaves. */
import type { FastifyError, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { describeInvalid } from './invalid-input.ts'

/** Counts what it reads. */
export function createFailureReader(log: Logger, metrics: Metrics): (error: unknown, request: FastifyRequest) => ApiError {
  return (error, request) => {
    const failure = failureOf(error, request)
    metrics.refused(failure.code)
    return failure
  }

  function failureOf(error: unknown, request: FastifyRequest): ApiError {
    if (error instanceof ApiError) return error
    if (isFastifyError(error)) {
      const [invalid] = error.validation ?? []
      if (invalid) return new ApiError('validation_error', describeInvalid(error.validationContext ?? 'body', invalid))
      // Fastify's own refusals of a URL, a media type or a length: none of them is reached in the ruled order of checks.
      if (error.statusCode !== undefined && error.statusCode < 500) return new ApiError('bad_request')
    }
    log.error(
      { err: error, requestId: request.id, method: request.method, route: request.routeOptions.url },
      'a request failed by our fault',
    )
    return new ApiError('internal_error')
  }
}

const isFastifyError = (error: unknown): error is FastifyError => error instanceof Error && 'code' in error && 'statusCode' in error
