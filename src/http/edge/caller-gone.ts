/** For work that only its caller wants. */
import type { FastifyReply } from 'fastify'

/**
 * Aborted when the caller has closed the connection, or its side of it, before the response was sent. A caller that only closes its side is
 * not distinguished from one that is gone, because nothing is written to the connection meanwhile that would fail.
 */
export function callerGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  const { socket } = raw.req
  socket.once('end', leave)
  raw.once('close', () => {
    socket.off('end', leave)
    if (!raw.writableFinished) leave()
  })
  // It may have left before this was called, during the authentication.
  if (raw.destroyed || socket.readableEnded) leave()
  return gone.signal
}
