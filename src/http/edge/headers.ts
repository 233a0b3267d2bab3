/** Request headers that Node's parser lets pass and we do not: of two where one may stand it keeps the first, or joins them, and says nothing. */
import type { IncomingMessage } from 'node:http'

/** How many times the header was sent; `name` in lower case. */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]!
    if (sent.length === name.length && sent.toLowerCase() === name) count++
  }
  return count
}

/** What a proxy before us may have understood in another way, in words; undefined where nothing is wrong. RFC 9112, sections 3.2 and 6.1. */
export function framingFault(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 is spoken here.'
  if (httpVersion === '1.1' && countHeader(request, 'host') !== 1) return 'Send exactly one Host header.'
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) return 'Transfer-Encoding may only be chunked.'
  return undefined
}
