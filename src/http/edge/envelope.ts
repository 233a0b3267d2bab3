/** What every failure looks like on the wire: the envelope, its headers, its words. Specification sections 2 and 7. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError, FailureCode } from '../../errors.ts'
import { note } from './access-log.ts'
import { closeIfUnread } from './polite-close.ts'

export const jsonType = 'application/json; charset=utf-8'

/** The error object: within the envelope, and alone as the data of the `error` event. */
export const errorObject = (code: FailureCode, message: string, requestId: string): object => ({ code, message, request_id: requestId })

export const envelope = ({ code, message }: ApiError, requestId: string): string =>
  JSON.stringify({ error: errorObject(code, message, requestId) })

/** `order.request-id`: what every failure carries beside its status. */
export function failureHeaders({ status, retryAfterSeconds }: ApiError, requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'content-type': jsonType,
    // A message of ours may repeat a field's name; no browser is to read it as anything but JSON.
    'x-content-type-options': 'nosniff',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    // RFC 9110, 11.6.1: a 401 names the scheme it asks for.
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  }
}

/** Answers the envelope. `requestId` is another than the request's own where the failure is a turn's. */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, error: ApiError, requestId = request.id): FastifyReply {
  closeIfUnread(request.raw, reply.raw)
  note(request.raw, { code: error.code, requestId })
  return reply.code(error.status).headers(failureHeaders(error, requestId)).send(envelope(error, requestId))
}
