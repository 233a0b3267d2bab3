/** A request's body: received whole, within the limit, and read as JSON without coercion. Rulings `order.body-size`, `text.well-formed`. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { isMultipart } from '../admin/agents/document-upload.ts'
import { deepest, shapeOf } from './json-shape.ts'
import { bodyLimitBytes, hasBody } from './polite-close.ts'

/**
 * Hook `preParsing`: `request.body` is the JSON of the body from then on, undefined where there is no body. A file is received elsewhere
 * (document-upload.ts), on the routes that take one.
 * Throws ApiError `payload_too_large`, `validation_error`, `bad_request`.
 */
export async function receiveJson(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!hasBody(request.raw) || (request.routeOptions.config.takesFile && isMultipart(request))) return
  request.body = parseJson(request.headers['content-type'], await receiveBody(request.raw, reply.raw))
}

const nothing = Buffer.alloc(0)

/** A body that is too large is refused at once where its length is told, otherwise when one byte too many has come. */
export function receiveBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  if (Number(request.headers['content-length']) > bodyLimitBytes) return Promise.reject(new ApiError('payload_too_large'))
  if (request.headers.expect !== undefined && !request.complete) response.writeContinue()
  return new Promise((resolve, reject) => {
    // Most bodies come in one piece. What follows is copied into one buffer as it comes: a body of 1-byte chunks would otherwise be a million objects.
    let buffer: Buffer = nothing
    let received = 0
    const onData = (bytes: Buffer): void => {
      if (received + bytes.length > bodyLimitBytes) {
        stop()
        request.pause()
        return reject(new ApiError('payload_too_large'))
      }
      if (received === 0) {
        buffer = bytes
        received = bytes.length
        return
      }
      // Whatever length the caller has claimed.
      if (received + bytes.length > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(received + bytes.length, buffer.length * 2))
        buffer.copy(larger, 0, 0, received)
        buffer = larger
      }
      bytes.copy(buffer, received)
      received += bytes.length
    }
    const onEnd = (): void => {
      stop()
      resolve(buffer.subarray(0, received))
    }
    // The connection is gone; nobody will read this.
    const onGone = (): void => {
      stop()
      reject(new ApiError('bad_request'))
    }
    const stop = (): void => void request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}

/** Throws ApiError `validation_error`, which says what is wrong and never repeats the text. */
export function parseJson(contentType: string | undefined, bytes: Buffer): unknown {
  if (!isJson(contentType)) throw invalid('Content-Type must be application/json, in UTF-8.')
  if (!isUtf8(bytes)) throw invalid('The body must be UTF-8.')
  const text = bytes.toString()
  const { depth, names } = shapeOf(text)
  if (depth > deepest) throw invalid('The body is nested too deeply.')
  const value = parse(text)
  if (isObject(value) && Object.keys(value).length < names) throw invalid('The body names a field twice.')
  return value
}

/** Parameters but charset do not matter (RFC 9110, 8.3); names and values are compared without regard to case. */
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
    throw invalid('The body must be JSON.')
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (message: string): ApiError => new ApiError('validation_error', message)
