/** Converts anything thrown while handling a request to an ApiError. Unknown errors are logged here, and only here; callers never see their text. */
import type { FastifyError, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Logger } from 'pino'
import { ApiError } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { invalidPart } from './invalid-input.ts'

/** The returned function also counts each error in the metrics. */
export function createFailureReader(log: Logger, metrics: Metrics): (error: unknown, request: FastifyRequest) => ApiError {
  return (error, request) => {
    const failure = failureOf(error, request)
    metrics.refused(failure.code)
    return failure
  }

  function failureOf(error: unknown, request: FastifyRequest): ApiError {
    if (error instanceof ApiError) return error
    if (isFastifyError(error)) {
      const found = error.validation && deepest(error.validation)
      if (found) return invalidPart(error.validationContext ?? 'body', found)
      // Fastify's own errors for a URL, media type or length. The checks of this service run first, so these should not occur.
      if (error.statusCode !== undefined && error.statusCode < 500) return new ApiError('bad_request')
    }
    log.error(
      { err: error, request_id: request.id, method: request.method, route: request.routeOptions.url },
      'request failed: internal error',
    )
    return new ApiError('internal_error')
  }
}

/** Of a field with several forms, each form has an error. The one of the form that was meant is about a field of it. */
const deepest = (found: FastifySchemaValidationError[]): FastifySchemaValidationError | undefined =>
  found.toSorted((one, other) => depthOf(other) - depthOf(one))[0]

const depthOf = ({ instancePath }: FastifySchemaValidationError): number => instancePath.split('/').length

const isFastifyError = (error: unknown): error is FastifyError => error instanceof Error && 'code' in error && 'statusCode' in error
