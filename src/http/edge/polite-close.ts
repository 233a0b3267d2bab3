/**
 * Closes a connection whose request was rejected before its body was read: sends the response and FIN, discards at most one body's worth of
 * data so that the caller can read the response, then destroys the socket. Node alone would read without limit, or reset the connection
 * before the caller has read the response (`order.rate-limit`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Size limit of a request body: 1 MiB. */
// mutant: order.body-size
export const bodyLimitBytes = 1_048_576

// Long enough for the response to arrive anywhere in the world, short enough that such sockets do not accumulate.
const lingerMs = 2000

/** Closes the connection after the response if the request body was not fully received. Call it before sending the response. */
export function closeIfUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!isUnread(request)) return
  response.shouldKeepAlive = false
  // A body within the limit may still be read to its end. Of any other one, nothing more is, if its reading has started.
  const isWithin = Number(request.headers['content-length']) <= bodyLimitBytes
  const discardBytes = isWithin || !request.readableDidRead ? bodyLimitBytes : 0
  // Node calls destroySoon after the last response of a connection was written.
  request.socket.destroySoon = () => closePolitely(request.socket, discardBytes)
}

export const isUnread = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Ends the socket after its pending writes, and discards up to about `discardBytes` of further input. */
export function closePolitely(socket: Socket, discardBytes: number): void {
  socket.end()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroy())
  // The parser gets no more data: a request that follows a rejected one must not run, because its response could not be sent.
  socket.removeAllListeners('data')
  let discarded = 0
  socket.on('data', (bytes: Buffer) => {
    discarded += bytes.length
    if (discarded > discardBytes) socket.pause()
  })
  // Whoever stopped reading the body has paused it.
  socket.resume()
}
