/** Reads the Idempotency-Key header (`idempotency.key-text`). Its value is opaque: never unquoted, and trimmed only as HTTP does. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isLongerThan } from '../../code-points.ts'
import { invalid } from '../../errors.ts'
import { countHeader } from '../edge/headers.ts'

const longest = 255

/** Returns 1–255 code points, decoded as UTF-8 if that is valid, otherwise as Latin-1. Throws ApiError `validation_error`. */
export function readIdempotencyKey(request: IncomingMessage): string {
  const header = request.headers['idempotency-key']
  if (typeof header !== 'string') throw invalid('Idempotency-Key', 'The Idempotency-Key header is required.')
  if (countHeader(request, 'idempotency-key') > 1) throw invalid('Idempotency-Key', 'Send exactly one Idempotency-Key header.')
  const text = decode(header)
  if (text === '' || isLongerThan(text, longest)) {
    throw invalid('Idempotency-Key', 'The Idempotency-Key header must have 1 to 255 characters.')
  }
  if (/\p{Cc}/u.test(text)) throw invalid('Idempotency-Key', 'The Idempotency-Key header must not contain control characters.')
  return text
}

/** Node decodes header bytes as Latin-1. */
function decode(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
