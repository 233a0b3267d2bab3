/** For work that only its caller wants. */
import type { FastifyReply } from 'fastify'

/** Aborted when the caller has disconnected before its response was sent. */
export function callerGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}
