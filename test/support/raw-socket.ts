/** Bytes as they are on the wire, for what no HTTP client would send or show. Waits for events, never for time. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** `body` is undone of its chunks. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: string; json: any }

export class RawSocket {
  readonly socket: Socket
  received = ''
  /** The server's FIN was seen before any reset: all that it sent could be read. */
  ended = false
  readonly closed: Promise<void>
  #moved = Promise.withResolvers<void>()

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      this.received += text
      this.#move()
    })
    socket.on('end', () => {
      this.ended = true
      this.#move()
    })
    // A reset is an end like any other here; `ended` tells them apart.
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

  /** Resolves with everything received as soon as it matches; rejects where the server ends before that. */
  async until(pattern: RegExp | string): Promise<string> {
    for (let searched = 0; ; ) {
      const from = this.received.length
      // What was searched is not searched again, but for a match across the seam.
      if (typeof pattern === 'string' ? this.received.includes(pattern, searched - pattern.length) : pattern.test(this.received)) break
      if (this.ended || this.socket.destroyed) throw new Error(`ended before ${pattern}: ${this.received.slice(-1000)}`)
      searched = from
      await this.#moved.promise
    }
    return this.received
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
    return parseAnswers(this.received)
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
  return raw.answers
}

/** Whole answers, one behind the other. Throws where the bytes are anything else. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3}) [A-Z][\w -]+$/.exec(statusLine) ?? []
    if (end < 0 || status === undefined) throw new Error(`not an answer: ${rest.slice(0, 200)}`)
    const headers = Object.fromEntries(lines.map((line) => [line.split(': ', 1)[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)]))
    const { body, length } = bodyOf(rest.slice(end + 4), headers, Number(status))
    const json = headers['content-type']?.includes('json') && body ? JSON.parse(body) : undefined
    answers.push({ status: Number(status), headers, body, json })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

function bodyOf(text: string, headers: Record<string, string>, status: number): { body: string; length: number } {
  if (status === 100) return { body: '', length: 0 }
  if (headers['transfer-encoding'] !== 'chunked') {
    const body = Buffer.from(text).subarray(0, Number(headers['content-length'])).toString()
    return { body, length: body.length }
  }
  let body = ''
  let at = 0
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return { body, length: text.length }
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    const bytes = Buffer.from(text.slice(lineEnd + 2)).subarray(0, size).toString()
    body += bytes
    at = lineEnd + 2 + bytes.length + 2
    if (size === 0) return { body, length: at }
  }
}
