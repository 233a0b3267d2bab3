/**
 * The proxy between a client and the service in a scenario: an HTTP proxy on its own port that records every request and causes the faults,
 * the first for the first request of a call and so on; later requests pass. Never changes a byte of what it forwards.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { request as ask, createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { piecesUntil } from './answer-pieces.ts'
import { noteOf } from './noted.ts'
import type { Noted } from './noted.ts'
import type { Fault, Moment } from './scenario-file.ts'

/** What the proxy needs from the service around it. */
export type Surroundings = {
  /** Where the service is now. */
  target(): string
  /** Resolves when the model is called for the scenario the next time. */
  asked(): Promise<void>
  requestEnded(): void
  /** SIGKILL to the service; resolves when it has ended. */
  kill(): Promise<void>
  /** The service again, with the same data. */
  restart(): Promise<void>
  /** Takes every unit of the key's window. */
  useUpWindow(): Promise<void>
  /** Resolves when no turn of the scenario is running. */
  turnsEnded(): Promise<void>
  /** An address that no client should contact. */
  elsewhere: string
}

export type ScenarioProxy = {
  url: string
  noted: Noted[]
  /** For the requests from now on. */
  setFaults(faults: Fault[]): void
  /** Errors of the proxy itself: a scenario that requests something impossible. */
  problems: string[]
  close(): Promise<void>
}

// Below the range of outgoing connections: a port that is unused for a second must be free again afterwards. For the same reason no two
// proxies of a process ever have the same one.
const ports = [20_000, 32_768] as const
let lastPort = randomInt(...ports)
function nextPort(): number {
  lastPort = lastPort + 1 < ports[1] ? lastPort + 1 : ports[0]
  return lastPort
}

export async function startScenarioProxy(fixture: Surroundings): Promise<ScenarioProxy> {
  const noted: Noted[] = []
  const problems: string[] = []
  let faults: Fault[] = []
  const server = createServer((request, response) => {
    const note = noteOf(request)
    noted.push(note)
    response.on('error', () => undefined)
    void serve(request, response, note)
      .catch((error: unknown) => {
        // An ended service, or client, is a part of many scenarios; both see a broken connection.
        if (!isBroken(error)) problems.push(`the proxy: ${String(error)}`)
        response.destroy()
      })
      .finally(() => {
        note.endedAt ??= performance.now()
        fixture.requestEnded()
      })
  })

  async function serve(request: IncomingMessage, response: ServerResponse, note: Noted): Promise<void> {
    const fault = faults.shift() ?? 'pass'
    note.body = await textOf(request)
    if (fault === 'pass' || 'limiter_down' in fault) return void (await forward(request, response, note))
    if ('answer' in fault) return answer(response, note, fault.answer)
    if ('bytes_each' in fault) return void (await forward(request, response, note, { write: inPieces(fault.bytes_each) }))
    if ('slow_reader' in fault) return void (await forward(request, response, note, { readWhen: fixture.turnsEnded }))
    if ('window_used_up' in fault) {
      await fixture.useUpWindow()
      return void (await forward(request, response, note))
    }
    const [kind, moment] = Object.entries(fault)[0] as ['cut' | 'stall' | 'kill_server', Moment]
    const come = moment === 'before' || (await forwardUntil(moment, request, response, note))
    if (!come) return
    if (kind === 'stall') return void (await once(response, 'close'))
    if (kind === 'kill_server') return killed(response, note)
    note.endedAt = performance.now()
    response.destroy()
  }

  /** Returns whether the moment has come; if the response ended before it, the client has all of it. */
  async function forwardUntil(moment: Moment, request: IncomingMessage, response: ServerResponse, note: Noted): Promise<boolean> {
    if (moment === 'running') {
      const asked = fixture.asked()
      // Its response is not needed.
      const sent = send(request, note)
      sent.on('error', () => undefined)
      await asked
      response.once('close', () => sent.destroy())
      return true
    }
    return forward(request, response, note, { moment })
  }

  /** While the service is down nothing listens: connections are refused. */
  async function killed(response: ServerResponse, note: Noted): Promise<void> {
    await fixture.kill()
    note.endedAt = performance.now()
    server.close()
    response.destroy()
    server.closeAllConnections()
    await fixture.restart()
    await listen()
  }

  /** Returns whether the moment has come; otherwise the client has the whole response. */
  async function forward(
    request: IncomingMessage,
    response: ServerResponse,
    note: Noted,
    { moment, write = passOn, readWhen }: Manner = {},
  ): Promise<boolean> {
    const sent = send(request, note)
    response.once('close', () => sent.destroy())
    const [answered] = (await once(sent, 'response')) as [IncomingMessage]
    await readWhen?.()
    note.requestId = String(answered.headers['x-request-id'])
    note.retryAfter = answered.headers['retry-after'] === undefined ? undefined : Number(answered.headers['retry-after'])
    // The head is sent with the first byte: if nothing of the response is forwarded, its head is not either.
    const head = (): void => {
      if (response.headersSent) return
      note.status = answered.statusCode
      response.writeHead(answered.statusCode!, endToEnd(answered))
    }
    for await (const piece of piecesUntil(moment, answered)) {
      if (piece === 'moment') return true
      head()
      if (piece.isDelta) note.deltas += 1
      note.endedAt = performance.now()
      await write(response, piece.bytes)
    }
    if (!answered.complete) throw broken()
    head()
    note.endedAt = performance.now()
    response.end()
    return false
  }

  function send(request: IncomingMessage, note: Noted) {
    const { host: _, ...headers } = request.headers
    const sent = ask(new URL(note.path, fixture.target()), { method: note.method, headers, agent: false })
    sent.end(note.body)
    return sent
  }

  function answer(response: ServerResponse, note: Noted, { status, headers = {}, body = '' }: AnswerGiven): void {
    const given = Object.entries(headers).map(([name, value]) => [name, value.replace('{elsewhere}', fixture.elsewhere)] as const)
    const asked = given.find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
    Object.assign(note, { status, retryAfter: asked === undefined ? undefined : Number(asked), endedAt: performance.now() })
    response.writeHead(status, Object.fromEntries(given)).end(body)
  }

  let port = nextPort()
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  while (!server.listening) {
    await listen().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error
      port = nextPort()
    })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    noted,
    problems,
    setFaults: (next) => void (faults = [...next]),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

type Manner = {
  moment?: Moment
  write?: (response: ServerResponse, bytes: Buffer) => Promise<void>
  /** Nothing of the response is read before. */
  readWhen?: () => Promise<void>
}
type AnswerGiven = Extract<Fault, { answer: unknown }>['answer']

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** Hop-by-hop headers belong to this connection. */
function endToEnd({ headers }: IncomingMessage): IncomingMessage['headers'] {
  const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...rest } = headers
  return rest
}

async function passOn(response: ServerResponse, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => response.write(bytes, (error) => (error ? reject(error) : resolve())))
}

const inPieces =
  (bytesEach: number) =>
  async (response: ServerResponse, bytes: Buffer): Promise<void> => {
    for (let at = 0; at < bytes.length; at += bytesEach) {
      await passOn(response, bytes.subarray(at, at + bytesEach))
      await turn()
    }
  }

const broken = (): Error => Object.assign(new Error('the answer broke off'), { code: 'ECONNRESET' })

function isBroken(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED'].includes(code)
}
