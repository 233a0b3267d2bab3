/** `idempotency.key-text`: the header's text, opaque, never unquoted, trimmed only as HTTP does. Specification 4.4. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../errors.ts'
import { countHeader } from '../edge/headers.ts'

const longest = 255

/** 1–255 code points, decoded as UTF-8 where valid, else latin1. Throws ApiError `validation_error`. */
export function readIdempotencyKey(request: IncomingMessage): string {
  const header = request.headers['idempotency-key']
  if (typeof header !== 'string') throw new ApiError('validation_error', 'The Idempotency-Key header is required.')
  if (countHeader(request, 'idempotency-key') > 1) throw new ApiError('validation_error', 'Send exactly one Idempotency-Key header.')
  const text = decode(header)
  if (text === '' || (text.length > longest && [...text].length > longest)) {
    throw new ApiError('validation_error', 'Idempotency-Key must have 1 to 255 characters.')
  }
  if (/\p{Cc}/u.test(text)) throw new ApiError('validation_error', 'Idempotency-Key must not contain control characters.')
  return text
}

/** Node gives header bytes as latin1. */
function decode(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
