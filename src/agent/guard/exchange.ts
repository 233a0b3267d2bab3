/**
 * Makes one HTTP request on its own connection to a checked address, and returns the answer as a decoded stream. It follows no redirects,
 * and uses no proxy, no cookies and no connection of another request.
 */
import { connect, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Transform } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import type { buildConnector, Dispatcher } from 'undici'
import { isPublic } from './address.ts'
import { GuardFailed } from './refusal.ts'
import { notAllowed } from './target.ts'
import type { Address, Target } from './target.ts'

export type HopRequest = {
  method: string
  headers: Record<string, string>
  body: string | Uint8Array | undefined
  /** Limit for the decoded body. The encoded body may be only slightly larger. */
  maxBytes: number
  signal: AbortSignal
  /** Called when the connection is open: from now on the request may have been sent. */
  onConnection(): void
}

export type HopAnswer = {
  status: number
  headers: Headers
  /** The decoded body. The connection is closed when the body ends or is no longer read. */
  body: AsyncGenerator<Buffer>
  /** Closes the connection immediately. */
  close(): void
}

// Twice the limit of Node's own servers.
const maxHeaderBytes = 32_768
// Encoding makes a body smaller or slightly larger. A body that needs more extra bytes than this was built to waste CPU time.
const spareWireBytes = 65_536
// If an address has not answered within this time, the next one is tried in parallel.
const nextAddressMs = 1000

/** Rejects with the error that occurred, or with `signal.reason`. */
export async function exchange(target: Target, addresses: Address[], request: HopRequest): Promise<HopAnswer> {
  // Loaded on first use: without tools and without documents from URLs it is not needed.
  const { Client } = await import('undici')
  const { url } = target
  const over = new AbortController()
  const close = (): void => over.abort()
  const client = new Client(url.origin, {
    connect: connectorTo(target, addresses, over.signal, request.onConnection),
    // No pipelining: each connection carries one request.
    pipelining: 0,
    maxHeaderSize: maxHeaderBytes,
    // Off, because the caller's signal enforces the deadlines.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  over.signal.addEventListener('abort', () => void client.destroy().catch(() => undefined), { once: true })
  const abort = (): void => over.abort()
  request.signal.addEventListener('abort', abort, { once: true })
  over.signal.addEventListener('abort', () => request.signal.removeEventListener('abort', abort), { once: true })
  try {
    request.signal.throwIfAborted()
    const answer = await client.request({
      path: url.pathname + url.search,
      method: request.method,
      headers: { 'user-agent': 'turnkeep', ...request.headers, 'accept-encoding': 'gzip, deflate, br' },
      body: request.body ?? null,
    })
    const headers = headersOf(answer.headers)
    const wire = bounded(answer.body, request.maxBytes + spareWireBytes)
    const coding = (headers.get('content-encoding') ?? '').trim().toLowerCase()
    return { status: answer.statusCode, headers, body: ending(decoded(wire, coding), close), close }
  } catch (error) {
    close()
    throw error
  }
}

function headersOf(fields: Dispatcher.ResponseData['headers']): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(fields)) for (const value of [values ?? []].flat()) headers.append(name, value)
  return headers
}

async function* ending(body: AsyncIterable<Buffer>, close: () => void): AsyncGenerator<Buffer> {
  try {
    yield* body
  } finally {
    close()
  }
}

async function* bounded(body: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of body) {
    yield piece
    bytes += piece.length
    // The bytes read so far decode to more than the limit, or to nothing useful.
    if (bytes > most) return
  }
}

async function* decoded(wire: AsyncGenerator<Buffer>, coding: string): AsyncGenerator<Buffer> {
  const first = await wire.next()
  // An answer without a body may still name an encoding.
  if (first.done) return
  const decoder = decoderOf(coding, first.value)
  if (!decoder) {
    yield first.value
    yield* wire
    return
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield first.value
    yield* wire
  }
  // If either side fails, `pipeline` destroys the decoder, and the loop below gets the error.
  for await (const piece of pipeline(whole, decoder, () => undefined)) yield piece
}

function decoderOf(coding: string, first: Buffer): Transform | undefined {
  switch (coding) {
    case '':
    case 'identity':
      return undefined
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'br':
      return createBrotliDecompress()
    case 'deflate':
      // Some servers send deflate without the zlib header, whose first byte ends in 8.
      return (first[0]! & 0x0f) === 8 ? createInflate() : createInflateRaw()
    default:
      throw new GuardFailed('the response body has an unsupported content encoding')
  }
}

/** Connects to the checked addresses in order, and checks the address of the open connection again before sending anything. */
function connectorTo(
  { url, host, port, permitted }: Target,
  addresses: Address[],
  signal: AbortSignal,
  onConnection: () => void,
): buildConnector.connector {
  return (_origin, callback) => {
    const hand = (connection: Socket): void => {
      onConnection()
      callback(null, connection)
    }
    const answered = (_name: string, _options: object, done: (error: null, found: Address[]) => void): void => done(null, addresses)
    const socket = connect({
      host,
      port,
      // mutant: tools.guard
      lookup: answered,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: nextAddressMs,
      noDelay: true,
      signal,
    })
    socket.on('error', (error) => callback(error, null))
    socket.once('connect', () => {
      if (!permitted && !isPublic(socket.remoteAddress ?? '')) return void socket.destroy(notAllowed({ host, port }))
      if (url.protocol === 'http:') return hand(socket)
      const secure = connectTls({
        socket,
        host,
        ...(isIP(host) ? {} : { servername: host }),
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
      })
      secure.on('error', (error) => callback(error, null))
      secure.once('secureConnect', () => hand(secure))
    })
  }
}
