/**
 * Responds to input that never becomes a normal request: bytes that the HTTP parser rejects, requests that arrive too slowly, and CONNECT.
 * Each gets the error envelope with a request ID (`order.request-id`), and the connection is closed. Never
 * writes to a socket while another response is being sent on it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../../errors.ts'
import { writeFailure } from './envelope.ts'
import { bodyLimitBytes, closeIfUnread, closePolitely } from './polite-close.ts'
import { createStandstill } from './standstill.ts'

// Not a named import: that evaluates every export of node:http and loads the client behind `fetch`, which the server does not use.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export type Refusals = {
  /** Handler for the server's `clientError` event. */
  refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void
  /** Handles the server's other events for invalid requests. */
  watch(server: Server): void
}

/** Calls `onRefusal` for every response. `request` is undefined if the bytes never became a request. */
export function createRefusals(
  newRequestId: () => string,
  onRefusal: (refusal: ApiError, requestId: string, request?: IncomingMessage) => void,
): Refusals {
  // The latest request of each connection. Its response is the last one to be written, with pipelining too.
  const newest = new WeakMap<Socket, ServerResponse>()
  const standstill = createStandstill(() => performance.now())

  function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!isLate(error)) return refuseFor(error, socket)
    // After the process was suspended or blocked, timers fire before sockets are read. Wait one turn of the event loop: a request that
    // arrived in time is then read and served.
    const before = newest.get(socket)
    const wasComplete = before?.req.complete
    setImmediate(() => {
      if (newest.get(socket) === before && before?.req.complete === wasComplete) refuseFor(error, socket)
    })
  }

  function refuseFor(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const response = newest.get(socket)
    // If the process was suspended or blocked, the late request is not the caller's fault: 503 makes the caller retry with the same key.
    const refusal = isLate(error) && standstill.isJustOver() ? new ApiError('service_unavailable') : refusalOf(error)
    if (!response || response.req.complete) return refuseWhenIdle(socket, refusal)
    // The rejected bytes are part of a request body, so this is the response to that request, unless it already has one.
    if (!response.headersSent) answer(response, refusal)
  }

  /** Invalid bytes after a complete request wait until that request has been answered. */
  function refuseWhenIdle(socket: Socket, refusal: ApiError): void {
    const response = newest.get(socket)
    if (response && !response.writableFinished && !response.destroyed) response.once('close', () => refuse(socket, refusal))
    else refuse(socket, refusal)
  }

  function refuse(socket: Socket, refusal: ApiError): void {
    if (!socket.writable) return
    const requestId = newRequestId()
    const written = writeFailure({ error: refusal, requestId, url: undefined })
    const headers = { date: new Date().toUTCString(), ...withLength(written), connection: 'close' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 ${written.status} ${STATUS_CODES[written.status]}\r\n${lines.join('')}\r\n${written.body}`)
    closePolitely(socket, bodyLimitBytes)
    onRefusal(refusal, requestId)
  }

  function answer(response: ServerResponse, refusal: ApiError): void {
    const requestId = newRequestId()
    const written = writeFailure({ error: refusal, requestId, url: response.req.url })
    closeIfUnread(response.req, response)
    response.writeHead(written.status, withLength(written)).end(written.body)
    onRefusal(refusal, requestId, response.req)
  }

  return {
    refuseBytes,
    watch(server) {
      standstill.watch(server)
      server.prependListener('request', (request, response) => newest.set(request.socket, response))
      // Node emits one of these instead of `request` if there is an Expect header. Every message takes the same way, with the same limits
      // (`order.pipelining`). receiveBody sends 100 Continue once the request is accepted, so a rejected caller does not send its body at all.
      for (const event of ['checkContinue', 'checkExpectation'])
        server.on(event, (request, response) => server.emit('request', request, response))
      server.on('connect', (_request, socket: Socket) => {
        // Node has removed its own listeners from this socket.
        socket.on('error', () => socket.destroy())
        refuseWhenIdle(socket, new ApiError('not_found'))
      })
    },
  }
}

const withLength = ({ headers, body }: ReturnType<typeof writeFailure>): Record<string, string> => ({
  ...headers,
  'content-length': String(Buffer.byteLength(body)),
})

const isLate = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_HTTP_REQUEST_TIMEOUT'

function refusalOf(error: NodeJS.ErrnoException): ApiError {
  const { code } = error
  if (isLate(error)) return new ApiError('bad_request', 'The request did not arrive in time.', { status: 408 })
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('bad_request', 'The request headers are too large.', { status: 431 })
  return new ApiError('bad_request')
}
