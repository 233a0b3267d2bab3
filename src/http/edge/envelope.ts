/**
 * Writes error responses: the JSON envelope and its headers, as docs/spec.md, "Errors", describes them, or OpenAI's error object on the paths
 * of that API (`openai.errors`).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { ApiError, FailureCode } from '../../errors.ts'
import { isOpenAiPath, mayRetryHeader, openAiError, openAiStatus } from '../openai/openai-error.ts'
import type { ErrorObject } from '../public/schemas.ts'
import { note } from './access-log.ts'
import { closeIfUnread } from './polite-close.ts'

export const jsonType = 'application/json; charset=utf-8'

/** The error object, used in the envelope and as the data of the `error` event. */
export const errorObject = (code: FailureCode, message: string, requestId: string): Static<typeof ErrorObject.ref> => ({
  code,
  message,
  request_id: requestId,
})

/**
 * `url`: of the request, undefined if it never became one. `route`: what serves it, undefined before that is known. `isStored`: the failure is the
 * stored end of a turn.
 */
export type Failed = { error: ApiError; requestId: string; url: string | undefined; route?: string | undefined; isStored?: boolean }

/** `admin.param`: the envelope of the public API never has it. */
const isAdminRoute = (route: string | undefined): boolean => route?.startsWith('/admin/v1/') ?? false

/** The status, headers and body of an error response. */
export function writeFailure({ error, requestId, url, route, isStored = false }: Failed): {
  status: number
  headers: Record<string, string>
  body: string
} {
  const headers = failureHeaders(error, requestId)
  if (!isOpenAiPath(url)) {
    const named = isAdminRoute(route) && error.param !== undefined ? { param: error.param } : {}
    const body = JSON.stringify({ error: { ...errorObject(error.code, error.message, requestId), ...named } })
    return { status: error.status, headers, body }
  }
  return {
    status: openAiStatus(error),
    headers: { ...headers, ...mayRetryHeader(error, isStored) },
    body: JSON.stringify({ error: openAiError(error) }),
  }
}

/** Returns the headers of an error response (`order.request-id`). */
function failureHeaders({ status, retryAfterSeconds, location }: ApiError, requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'content-type': jsonType,
    // A message may repeat a field name from the request, so a browser must not interpret the body as anything but JSON.
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(location === undefined ? {} : { location }),
    // RFC 9110, 11.6.1: a 401 response names the authentication scheme.
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  }
}

/** `requestId` differs from the ID of the request if the error belongs to an earlier turn. */
export function sendFailure(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
  requestId = error.requestId ?? request.id,
  isStored = false,
): FastifyReply {
  // mutant: order.rate-limit
  closeIfUnread(request.raw, reply.raw)
  note(request.raw, { code: error.code, requestId })
  const { status, headers, body } = writeFailure({ error, requestId, url: request.raw.url, route: request.routeOptions.url, isStored })
  return reply.code(status).headers(headers).send(body)
}
