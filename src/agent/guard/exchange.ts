/**
 * One request on a connection of its own to an address that was checked, and its answer as a decoded stream. Never follows a redirect, never
 * uses a proxy, a cookie or a connection of another request.
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
  /** What the body may be once decoded; on the wire it may be little more. */
  maxBytes: number
  signal: AbortSignal
  /** There is a connection: from now on the request may have left. */
  onConnection(): void
}

export type HopAnswer = {
  status: number
  headers: Headers
  /** Decoded. Its end, or the end of its reading, closes the connection. */
  body: AsyncGenerator<Buffer>
  /** Closes the connection at once. */
  close(): void
}

// Twice what Node's own servers send.
const maxHeaderBytes = 32_768
// Codings make a body shorter or hardly longer; what needs more than this beside what it decodes to is made to keep us busy.
const spareWireBytes = 65_536
// The next address is tried beside one that has not answered for so long.
const nextAddressMs = 1000

/** Rejects with whatever went wrong, or with `signal.reason`. */
export async function exchange(target: Target, addresses: Address[], request: HopRequest): Promise<HopAnswer> {
  // Loaded here: a service without tools and documents from elsewhere makes no such request.
  const { Client } = await import('undici')
  const { url } = target
  const over = new AbortController()
  const close = (): void => over.abort()
  const client = new Client(url.origin, {
    connect: connectorTo(target, addresses, over.signal, request.onConnection),
    // one request, one connection
    pipelining: 0,
    maxHeaderSize: maxHeaderBytes,
    // the deadlines are the caller's signal
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
    // what has been read decodes to more than is kept, or to nothing of use
    if (bytes > most) return
  }
}

async function* decoded(wire: AsyncGenerator<Buffer>, coding: string): AsyncGenerator<Buffer> {
  const first = await wire.next()
  // a coding may be named where there is no body
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
  // What goes wrong on either side ends the decoder with it, and its reader below is told.
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
      // some servers leave the head of zlib away, whose first half byte is 8
      return (first[0]! & 0x0f) === 8 ? createInflate() : createInflateRaw()
    default:
      throw new GuardFailed('the response body has an unsupported content encoding')
  }
}

/** Connects to the addresses that were checked, in their order, and looks once more at what it is connected to before a byte is sent. */
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
