/** Checks on request headers that Node's parser does not make: of a repeated header it silently keeps the first value or joins them. */
import type { IncomingMessage } from 'node:http'

/** Returns how many times the header was sent. `name` is in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!
    if (sent.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

/** Describes framing that a proxy in front of the server may read differently; undefined if there is no problem. RFC 9112, 3.2 and 6.1. */
export function framingFault(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 and HTTP/1.0 are supported.'
  if (httpVersion === '1.1' && countHeader(request, 'host') !== 1) return 'Send exactly one Host header.'
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return 'Transfer-Encoding must be chunked, and requires HTTP/1.1.'
  return undefined
}
