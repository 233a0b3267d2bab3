/** Receives a request body within the size limit and parses it as JSON. Rules `order.body-size`, `text.well-formed`. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { isMultipart } from '../admin/agents/document-upload.ts'
import { countHeader } from './headers.ts'
import { countNames, deepest, shapeOf } from './json-shape.ts'
import { bodyLimitBytes, hasBody } from './polite-close.ts'

/**
 * A `preParsing` hook that sets `request.body` to the parsed JSON, or leaves it undefined if there is no body. File uploads are received in
 * document-upload.ts. Throws ApiError `payload_too_large`, `validation_error` or `bad_request`.
 */
export async function receiveJson(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!hasBody(request.raw)) return
  if (request.routeOptions.config.takesFile && isMultipart(request)) return refuseAmbiguousContent(request.raw)
  request.body = parseJson(request.raw, await receiveBody(request, reply, request.routeOptions.bodyLimit))
}

const nothing = Buffer.alloc(0)

/**
 * Rejects a body of more than `limitBytes`: immediately if Content-Length says so, otherwise at the first byte over the limit. Rejects with
 * ApiError `service_unavailable` if the sender has too many unfinished bodies (`overload.bodies`).
 */
export function receiveBody(received: FastifyRequest, reply: FastifyReply, limitBytes = bodyLimitBytes): Promise<Buffer> {
  const request = received.raw
  const tooLarge = (): ApiError =>
    new ApiError(
      'payload_too_large',
      limitBytes === bodyLimitBytes ? undefined : `The request body is larger than ${limitBytes / 1024} KiB.`,
    )
  if (Number(request.headers['content-length']) > limitBytes) return Promise.reject(tooLarge())
  // It has left during the authentication, and none of the events below would follow.
  if (request.destroyed) return Promise.reject(new ApiError('bad_request'))
  return new Promise((resolve, reject) => {
    // Most bodies have arrived completely: they are counted nowhere.
    const unfinished = request.complete ? undefined : received.server.unfinishedBodies.start(received)
    if (request.headers.expect !== undefined && !request.complete) reply.raw.writeContinue()
    // Most bodies arrive in one piece. Further pieces are copied into one buffer: a body of 1-byte chunks would otherwise be a million objects.
    let buffer: Buffer = nothing
    let size = 0
    const onData = (bytes: Buffer): void => {
      const problem = size + bytes.length > limitBytes ? tooLarge() : append(bytes)
      if (!problem) return
      stop()
      request.pause()
      reject(problem)
    }
    const append = (bytes: Buffer): ApiError | undefined => {
      const needed = size + bytes.length
      // Grows with what has arrived, not with the Content-Length that the caller claims.
      const capacity = needed <= buffer.length || size === 0 ? needed : Math.max(needed, Math.min(buffer.length * 2, limitBytes))
      const problem = unfinished?.grow(Math.max(capacity, buffer.length))
      if (problem) return problem
      if (size === 0) buffer = bytes
      else {
        if (needed > buffer.length) {
          const larger = Buffer.allocUnsafe(capacity)
          buffer.copy(larger, 0, 0, size)
          buffer = larger
        }
        bytes.copy(buffer, size)
      }
      size = needed
      return undefined
    }
    const onEnd = (): void => {
      stop()
      resolve(buffer.subarray(0, size))
    }
    // The connection is gone, so no one receives this error.
    const onGone = (): void => {
      stop()
      reject(new ApiError('bad_request'))
    }
    const stop = (): void => {
      unfinished?.end()
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
      reply.raw.off('close', onGone)
    }
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    // The request emits nothing if refusals.ts has answered it before its end.
    if (unfinished) reply.raw.once('close', onGone)
  })
}

/** Throws ApiError `validation_error` with a message that never repeats the text. */
export function parseJson(request: IncomingMessage, bytes: Buffer): unknown {
  // mutant: order.validation-2
  refuseAmbiguousContent(request)
  if (!isJson(request.headers['content-type'])) throw invalid('Content-Type must be application/json with UTF-8 encoding.')
  if (!isUtf8(bytes)) throw invalid('The body must be valid UTF-8.')
  const text = bytes.toString()
  const { depth, names } = shapeOf(text)
  if (depth > deepest) throw invalid(`The body is nested too deeply. The maximum depth is ${deepest}.`)
  const value = parse(text)
  if (countNames(value, depth) < names) throw invalid('The body contains the same field more than once.')
  return value
}

/** Of two types, Node keeps the first, while a proxy in front may have checked the second. Nothing here decompresses a body. */
function refuseAmbiguousContent(request: IncomingMessage): void {
  if (countHeader(request, 'content-type') > 1) throw invalid('Send exactly one Content-Type header.')
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw invalid('The body must not be compressed: send no Content-Encoding.')
}

/** Ignores parameters other than charset (RFC 9110, 8.3). Names and values are compared case-insensitively. */
function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    mediaType.trim() === 'application/json' &&
    parameters.every((parameter) => !/^\s*charset\s*=/.test(parameter) || /^\s*charset=("utf-8"|utf-8)\s*$/.test(parameter))
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('The body is not valid JSON.')
  }
}

const invalid = (message: string): ApiError => new ApiError('validation_error', message)
