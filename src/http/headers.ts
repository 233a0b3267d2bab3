/** Request headers that may come once only, counted: Node keeps the first of two, or joins them, and says nothing. */
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
