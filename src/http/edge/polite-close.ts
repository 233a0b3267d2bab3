/**
 * How a connection ends whose request was refused with its body unread: the answer, then FIN, then at most one body's worth is read and
 * thrown away so that the caller can read the answer, then the socket is destroyed. Node alone would read on for ever, or reset the
 * connection under the caller's hands. Ruling `order.rate-limit`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The ruled limit of a request body: 1 MiB. */
export const bodyLimitBytes = 1_048_576

// Long enough for the answer to cross the world twice, short enough that such sockets never pile up.
const lingerMs = 2000

/** Marks the connection to be closed after the answer, if there is a body that was not received whole. Call it before the answer. */
export function closeIfUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!isUnread(request)) return
  response.shouldKeepAlive = false
  // Node calls it when the last answer of a connection has been written.
  request.socket.destroySoon = () => closePolitely(request.socket, request.readableDidRead ? 0 : bodyLimitBytes)
}

export const isUnread = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Ends the socket after what was written to it; reads and forgets about `discardBytes` more. */
export function closePolitely(socket: Socket, discardBytes: number): void {
  socket.end()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  // The parser sees nothing more: a request behind a refused one must not run, since nobody would get its answer.
  socket.removeAllListeners('data')
  let discarded = 0
  socket.on('data', (bytes: Buffer) => {
    discarded += bytes.length
    if (discarded > discardBytes) socket.pause()
  })
}
