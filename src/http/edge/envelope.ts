/** Writes error responses: the JSON envelope and its headers, as docs/spec.md, "Errors", describes them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError, FailureCode } from '../../errors.ts'
import { note } from './access-log.ts'
import { closeIfUnread } from './polite-close.ts'

export const jsonType = 'application/json; charset=utf-8'

/** The error object, used in the envelope and as the data of the `error` event. */
export const errorObject = (code: FailureCode, message: string, requestId: string): object => ({ code, message, request_id: requestId })

export const envelope = ({ code, message }: ApiError, requestId: string): string =>
  JSON.stringify({ error: errorObject(code, message, requestId) })

/** Returns the headers of an error response (`order.request-id`). */
export function failureHeaders({ status, retryAfterSeconds }: ApiError, requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'content-type': jsonType,
    // A message may repeat a field name from the request, so a browser must not interpret the body as anything but JSON.
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    // RFC 9110, 11.6.1: a 401 response names the authentication scheme.
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  }
}

/** Sends the error envelope. `requestId` differs from the ID of the request if the error belongs to an earlier turn. */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, error: ApiError, requestId = request.id): FastifyReply {
  closeIfUnread(request.raw, reply.raw)
  note(request.raw, { code: error.code, requestId })
  return reply.code(error.status).headers(failureHeaders(error, requestId)).send(envelope(error, requestId))
}
