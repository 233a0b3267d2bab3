/** Reads the optional headers of a message: `Prefer` (RFC 7240) and `traceparent` (W3C Trace Context). What is not valid is ignored, as both say. */
import type { IncomingMessage } from 'node:http'

/** `turn.background`: whether the caller asks not to wait for the reply. */
export function prefersAsync({ headers }: IncomingMessage): boolean {
  const { prefer } = headers
  if (prefer === undefined) return false
  return [prefer].flat().some((value) => value.split(',').some((preference) => /^\s*respond-async\s*(;|$)/i.test(preference)))
}

const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** `trace.context` */
export function readTraceparent({ headers }: IncomingMessage): string | null {
  const value = headers['traceparent']
  return typeof value === 'string' && traceparent.test(value) ? value : null
}
