/**
 * A server that a guarded request should not trust: real HTTP on 127.0.0.1, one fault for each path. Tells what it was asked and how much it could send.
 *
 *     const server = await startHostileServer()
 *     server.url('/drip')       // http://127.0.0.1:<port>/drip
 *     server.calls              // what arrived, oldest first
 *     server.written('/huge')   // bytes of bodies that the sockets took
 *     await server.close()      // ends every connection
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'

export type HostileCall = { method: string; url: string; headers: IncomingHttpHeaders; body: string; callerPort: number }
export type HostileServer = {
  port: number
  calls: HostileCall[]
  /** Resolves when every connection that brought a call of this path is gone, and there was one. */
  gone(path: string): Promise<void>
  url(path: string): string
  written(path: string): number
  /** Answers a path in a way of the test's own. */
  on(path: string, answer: (call: HostileCall, response: ServerResponse) => void): void
  close(): Promise<void>
}

const mebibyte = 1_048_576
// 16 MiB of zeros each; together a gigabyte that is a megabyte on the wire
const gzipMember = gzipSync(Buffer.alloc(16 * mebibyte))
const text = 'plain text, Grüße, 退款 '.repeat(40)

const encoders: Record<string, (data: Buffer) => Buffer> = {
  gzip: gzipSync,
  deflate: deflateSync,
  raw: deflateRawSync,
  br: (data) => brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
}

export async function startHostileServer(): Promise<HostileServer> {
  const calls: HostileCall[] = []
  const written = new Map<string, number>()
  const open = new Map<string, Set<Socket>>()
  const own = new Map<string, (call: HostileCall, response: ServerResponse) => void>()
  const openOf = (path: string): Set<Socket> => {
    const sockets = open.get(path) ?? new Set()
    open.set(path, sockets)
    return sockets
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://here')
    openOf(url.pathname).add(request.socket)
    request.socket.once('close', () => openOf(url.pathname).delete(request.socket))
    response.on('error', () => undefined)
    void readBody(request).then((body) => {
      const { method = '', headers, socket } = request
      const call = { method, url: request.url ?? '', headers, body, callerPort: socket.remotePort ?? 0 }
      calls.push(call)
      const answer = own.get(url.pathname)
      if (answer) answer(call, response)
      else answerAs(url, call, response, (bytes) => written.set(url.pathname, (written.get(url.pathname) ?? 0) + bytes))
    })
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', () => listening.resolve())
  await listening.promise
  const { port } = server.address() as AddressInfo

  return {
    port,
    calls,
    async gone(path) {
      while (openOf(path).size > 0 || !calls.some((call) => new URL(call.url, 'http://here').pathname === path)) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    url: (path) => `http://127.0.0.1:${port}${path}`,
    written: (path) => written.get(path) ?? 0,
    on: (path, answer) => void own.set(path, answer),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

function answerAs(url: URL, call: HostileCall, response: ServerResponse, wrote: (bytes: number) => void): void {
  const query = url.searchParams
  const type = query.get('type') ?? 'text/plain'
  const raw = (answer: string): void => {
    response.socket?.write(answer)
    response.socket?.end()
  }
  const send = (body: string | Buffer, headers: Record<string, string> = {}): void => {
    response.writeHead(Number(query.get('status') ?? 200), { 'content-type': type, ...headers }).end(body)
  }
  switch (url.pathname) {
    case '/text':
      return send(text)
    case '/echo':
      return send(JSON.stringify(call), { 'content-type': 'application/json' })
    case '/redirect':
      return send('moved', { location: query.get('to') ?? '', 'set-cookie': 'crumb=1' })
    case '/loop':
      return void response.writeHead(302, { location: '/loop' }).end()
    case '/hang':
      return
    case '/drip':
      return drip(response)
    case '/hang-within':
      return void response.writeHead(200, { 'content-type': type }).write('beginning')

    case '/huge':
      return flood(response, Buffer.alloc(65_536, 'x'), 16_384, wrote)
    case '/bomb':
      response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
      return flood(response, gzipMember, 64, wrote)
    case '/nothing-in-gzip':
      // blocks of deflate that are stored and empty, without end
      response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' })
      response.write(gzipMember.subarray(0, 10))
      return flood(response, Buffer.alloc(65_535, Buffer.from([0, 0, 0, 0xff, 0xff])), 16_384, wrote)
    case '/coded': {
      const coding = query.get('coding') ?? ''
      return send(encoders[coding]!(Buffer.from(text)), { 'content-encoding': coding === 'raw' ? 'deflate' : coding })
    }
    case '/brotli-bomb':
      return send(encoders['br']!(Buffer.alloc(64 * mebibyte)), { 'content-encoding': 'br' })
    case '/broken-gzip':
      return send(gzipMember.subarray(0, 1000), { 'content-encoding': 'gzip' })
    case '/not-gzip':
      return send('this is no gzip', { 'content-encoding': 'gzip' })
    case '/empty-gzip':
      return send('', { 'content-encoding': 'gzip' })
    case '/unasked-coding':
      return send('text', { 'content-encoding': 'compress' })
    case '/cut':
      response.writeHead(200, { 'content-type': type }).write('beginning')

      return void setImmediate(() => response.socket?.destroy())
    case '/short':
      return raw('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nshort')
    case '/long':
      return raw('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nshort and more')
    case '/two-lengths':
      return raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nshort')
    case '/no-http':
      return raw('SSH-2.0-OpenSSH_9.2\r\n')
    case '/closes':
      return void response.socket?.destroy()
    case '/headers':
      return raw(`HTTP/1.1 200 OK\r\nx-much: ${'x'.repeat(10 * mebibyte)}\r\ncontent-length: 0\r\n\r\n`)
    case '/many-headers':
      return raw(`HTTP/1.1 200 OK\r\n${'x-one: 1\r\n'.repeat(100_000)}content-length: 0\r\n\r\n`)
    case '/continue':
      return hints(response)
    case '/bytes':
      return send(Buffer.from(query.get('hex') ?? '', 'hex'))
    default:
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here')
  }
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' })
  const timer = setInterval(() => response.write('.'), 20)
  response.once('close', () => clearInterval(timer))
}

/** Interim answers without end. */
function hints(response: ServerResponse): void {
  const timer = setInterval(() => response.socket?.write('HTTP/1.1 103 Early Hints\r\nlink: </style>\r\n\r\n'), 20)
  response.socket?.once('close', () => clearInterval(timer))
}

function flood(response: ServerResponse, piece: Buffer, times: number, wrote: (bytes: number) => void): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/plain' })
  let left = times
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left--
      wrote(piece.length)
      if (!response.write(piece)) return void response.once('drain', more)
    }
    response.end()
  }
  more()
}
