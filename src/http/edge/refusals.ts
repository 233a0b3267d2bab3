/**
 * `order.request-id` for what never becomes a request: bytes that the HTTP parser refuses, slow ones, CONNECT, an expectation we do not
 * meet. Each is answered with an envelope and an id, and the connection is closed. Never writes into a socket with a response under way.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../../errors.ts'
import { envelope, failureHeaders } from './envelope.ts'
import { bodyLimitBytes, closeIfUnread, closePolitely } from './polite-close.ts'
import { createStandstill } from './standstill.ts'

// Not imported by name: that reads all that node:http exports, and with it loads the client behind `fetch`, which nobody here needs.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export type Refusals = {
  /** For the server's `clientError`. */
  refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void
  /** Handles the server's other events of this kind. */
  watch(server: Server): void
}

/** `onRefusal` is told each answer; `request` is absent where the bytes never became one. */
export function createRefusals(
  newRequestId: () => string,
  onRefusal: (refusal: ApiError, requestId: string, request?: IncomingMessage) => void,
): Refusals {
  // The newest request of a connection: its response is the last to be written, also where requests are pipelined.
  const newest = new WeakMap<Socket, ServerResponse>()
  const standstill = createStandstill(() => performance.now())

  function refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!isLate(error)) return refuseFor(error, socket)
    // A process that stood still learns of its deadlines before it reads what came in time: that is read first, and if it is whole it is served.
    const before = newest.get(socket)
    const wasComplete = before?.req.complete
    setImmediate(() => {
      if (newest.get(socket) === before && before?.req.complete === wasComplete) refuseFor(error, socket)
    })
  }

  function refuseFor(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const response = newest.get(socket)
    // What came in part while nobody read is asked for again, under the same key.
    const refusal = isLate(error) && standstill.isJustOver() ? new ApiError('service_unavailable') : refusalOf(error)
    if (!response || response.req.complete) return refuseWhenIdle(socket, refusal)
    // The refused bytes belong to the body of a request: this is its answer, unless it has one already, behind which the connection closes.
    if (!response.headersSent) answer(response, refusal)
  }

  /** Garbage behind a complete request waits for that request's answer. */
  function refuseWhenIdle(socket: Socket, refusal: ApiError): void {
    const response = newest.get(socket)
    if (response && !response.writableFinished && !response.destroyed) response.once('close', () => refuse(socket, refusal))
    else refuse(socket, refusal)
  }

  function refuse(socket: Socket, refusal: ApiError): void {
    if (!socket.writable) return
    const requestId = newRequestId()
    const body = envelope(refusal, requestId)
    const headers = { date: new Date().toUTCString(), ...refusalHeaders(refusal, requestId, body), connection: 'close' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`)
    closePolitely(socket, bodyLimitBytes)
    onRefusal(refusal, requestId)
  }

  function answer(response: ServerResponse, refusal: ApiError): void {
    const requestId = newRequestId()
    const body = envelope(refusal, requestId)
    closeIfUnread(response.req, response)
    response.writeHead(refusal.status, refusalHeaders(refusal, requestId, body)).end(body)
    onRefusal(refusal, requestId, response.req)
  }

  return {
    refuseBytes,
    watch(server) {
      standstill.watch(server)
      server.prependListener('request', (request, response) => newest.set(request.socket, response))
      // Continued only when the body is wanted (receiveBody): a caller that waits is refused before it sends anything.
      server.on('checkContinue', (request, response) => server.emit('request', request, response))
      server.on('checkExpectation', (_request, response) => answer(response, new ApiError('bad_request', undefined, { status: 417 })))
      server.on('connect', (_request, socket: Socket) => {
        // Node has taken its own listeners off.
        socket.on('error', () => socket.destroy())
        refuseWhenIdle(socket, new ApiError('not_found'))
      })
    },
  }
}

const refusalHeaders = (refusal: ApiError, requestId: string, body: string): Record<string, string> => ({
  ...failureHeaders(refusal, requestId),
  'content-length': String(Buffer.byteLength(body)),
})

const isLate = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_HTTP_REQUEST_TIMEOUT'

function refusalOf(error: NodeJS.ErrnoException): ApiError {
  const { code } = error
  if (isLate(error)) return new ApiError('bad_request', 'The request took too long to arrive.', { status: 408 })
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('bad_request', 'The request headers are too large.', { status: 431 })
  return new ApiError('bad_request')
}
