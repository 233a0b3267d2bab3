/** Checks on request headers that Node's parser does not make: of a repeated header it silently keeps the first value or joins them. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../errors.ts'

/** Returns how many times the header was sent. `name` is in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!
    if (sent.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

/**
 * Returns why this request and those that follow on its connection are not served, or undefined if there is no problem: framing that a proxy
 * in front of the server may read differently (RFC 9112, 3.2 and 6.1), or an expectation that the caller may wait for (RFC 9110, 10.1.1).
 */
export function messageFault(request: IncomingMessage): ApiError | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return malformed('Only HTTP/1.1 and HTTP/1.0 are supported.')
  if (httpVersion === '1.1' && countHeader(request, 'host') !== 1) return malformed('Send exactly one Host header.')
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return malformed('Transfer-Encoding must be chunked, and requires HTTP/1.1.')
  // HTTP/1.0 has no expectations: the header is ignored there.
  if (httpVersion === '1.1' && headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return new ApiError('bad_request', 'The only supported Expect value is 100-continue.', { status: 417 })
  return undefined
}

export const malformed = (message: string): ApiError => new ApiError('bad_request', message)
