/** What the proxy of a scenario records of one request: what the client sent and when, and what it received. Judges nothing. */
import type { IncomingMessage } from 'node:http'

export type Noted = {
  /**
   * Milliseconds of performance.now(): when its head had arrived, and just before the last byte of its response was sent or the connection
   * was cut.
   */
  at: number
  endedAt: number | undefined
  method: string
  path: string
  idempotencyKey: string | undefined
  lastEventId: string | undefined
  userAgent: string | undefined
  body: string
  /** Of the response that the client received, if it received a head. */
  status: number | undefined
  /** The service's, of the same response. */
  requestId: string | undefined
  retryAfter: number | undefined
  /** Whole deltas that were sent to the client. */
  deltas: number
}

export function noteOf({ method = '', url = '', headers }: IncomingMessage): Noted {
  const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value.join() : value)
  const sent = {
    idempotencyKey: one(headers['idempotency-key']),
    lastEventId: one(headers['last-event-id']),
    userAgent: headers['user-agent'],
  }
  const answer = { status: undefined, requestId: undefined, retryAfter: undefined, deltas: 0 }
  return { at: performance.now(), endedAt: undefined, method, path: url, ...sent, body: '', ...answer }
}
