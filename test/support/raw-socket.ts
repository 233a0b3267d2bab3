/** Bytes as they are sent, for what no HTTP client would send or show. Waits for events, never for a fixed time. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { hold, isHeld } from './answer-check-run.ts'

/** `body` without its chunk framing and compression. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: string; json: any }

export class RawSocket {
  readonly socket: Socket
  readonly #parts: string[] = []
  readonly #bytes: Buffer[] = []
  /** The server's FIN arrived before any reset, so everything that it sent could be read. */
  ended = false
  readonly closed: Promise<void>
  #moved = Promise.withResolvers<void>()

  private constructor(socket: Socket) {
    this.socket = socket
    const decoder = new StringDecoder('utf8')
    socket.on('data', (bytes: Buffer) => {
      this.#bytes.push(bytes)
      this.#parts.push(decoder.write(bytes))
      this.#move()
    })
    socket.on('end', () => {
      this.ended = true
      this.#move()
    })
    // A reset counts as an end; `ended` distinguishes them.
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#move()
        resolve()
      })
    })
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawSocket(socket)
  }

  write(bytes: string | Buffer): boolean {
    return this.socket.write(bytes)
  }

  /** How many bytes have been received. */
  get bytes(): number {
    return this.#bytes.reduce((sum, { length }) => sum + length, 0)
  }

  get received(): string {
    return this.#parts.join('')
  }

  /** Resolves with everything received as soon as it matches. Rejects if the server ends the connection before. */
  async until(pattern: RegExp | string): Promise<string> {
    for (let searched = 0; ;) {
      // Searches only new data and the seam before it, because some of these streams are long.
      const text = typeof pattern === 'string' ? this.#parts.slice(Math.max(0, searched - pattern.length)).join('') : this.received
      if (typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)) return this.received
      if (this.ended || this.socket.destroyed) throw new Error(`ended before ${pattern}: ${text.slice(-1000)}`)
      searched = this.#parts.length
      await this.#moved.promise
    }
  }

  /** Resolves with everything received when the server has sent its FIN or reset the connection. */
  async rest(): Promise<string> {
    while (!this.ended && !this.socket.destroyed) await this.#moved.promise
    return this.received
  }

  #move(): void {
    this.#moved.resolve()
    this.#moved = Promise.withResolvers()
  }

  get answers(): RawAnswer[] {
    return parseAnswers(Buffer.concat(this.#bytes))
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** Sends the bytes and reads until the server ends the connection. */
export async function exchange(port: number, bytes: string | Buffer): Promise<RawAnswer[]> {
  using raw = await RawSocket.open(port)
  raw.write(bytes)
  await raw.rest()
  const { answers } = raw
  holdFirst(port, bytes.toString(), answers)
  return answers
}

/** The response to the first request; later bytes may belong to no request. */
function holdFirst(port: number, sent: string, [first]: RawAnswer[]): void {
  const [, method, path] = /^([A-Z]+) (\/\S*) HTTP\/1\.1\r\n/.exec(sent) ?? []
  if (!first || method === undefined || !URL.canParse(path!, `http://127.0.0.1:${port}`)) return
  const headers = new Headers(first.headers)
  const url = new URL(path!, `http://127.0.0.1:${port}`)
  if (isHeld(url, headers)) hold({ method, path: url.pathname, status: first.status, headers, text: first.body })
}

/** Complete responses, one after the other; the last one may be incomplete. Throws for anything else. */
function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    const [statusLine = '', ...lines] = bytes.toString('utf8', at, end).split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) [A-Z][\w -]+$/.exec(statusLine) ?? []
    if (end < 0 || status === undefined) throw new Error(`not an answer: ${bytes.toString('utf8', at, at + 200)}`)
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ', 1)[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)]))
    const { parts, next } = bodyOf(bytes, end + 4, headers)
    const body = decompress(Buffer.concat(parts), headers['content-encoding']).toString()
    answers.push({ status: Number(status), headers, body, json: headers['content-type']?.includes('json') ? JSON.parse(body) : undefined })
    at = next
  }
  return answers
}

function decompress(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined) return body
  if (encoding === 'gzip') return gunzipSync(body)
  if (encoding === 'br') return brotliDecompressSync(body)
  throw new Error(`no request asks for ${encoding}`)
}

/** The body at `start` without chunk framing, and the position of the next response. */
function bodyOf(bytes: Buffer, start: number, headers: Record<string, string>): { parts: Buffer[]; next: number } {
  if (headers['transfer-encoding'] !== 'chunked') {
    const length = headers['content-length']
    // HTTP/1.0 has no chunks: a body without a length lasts until the connection ends.
    const next = length === undefined && headers['connection'] === 'close' ? bytes.length : start + Number(length ?? 0)
    return { parts: [bytes.subarray(start, next)], next }
  }
  const parts: Buffer[] = []
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return { parts, next: bytes.length }
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
    if (size === 0) return { parts, next: at }
  }
}
