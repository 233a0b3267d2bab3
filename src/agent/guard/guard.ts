/**
 * `tools.guard`: whatever leaves for an address that an operator, a document or a model named goes through here. It reaches public
 * addresses over https alone, save for the pairs of host and port that the settings allow; every redirect is looked at like a new address.
 * It never looks a name up twice for one connection, never inflates more than it may keep, and never says to what a name resolved.
 */
import { Deadline } from './deadline.ts'
import { exchange } from './exchange.ts'
import type { HopAnswer } from './exchange.ts'
import { GuardFailed, GuardRefused } from './refusal.ts'
import { permittedPairs, reachableFrom, readTarget, resolveTarget } from './target.ts'

export { GuardFailed, GuardRefused }

export type GuardedRequest = {
  method: string
  headers?: Record<string, string>
  body?: string
  /** Aborts the request, which then rejects with `signal.reason`. */
  signal: AbortSignal
  /** For all of it: look-up, connection, redirects, headers and body. */
  timeoutMs: number
  /** Of the body once it is decoded; what is longer is cut there. */
  maxBytes: number
  /** How many redirects are followed; 0: a redirect is refused. */
  redirects: number
}

export type GuardedAnswer = {
  status: number
  /** Names in any case. */
  headers: Pick<Headers, 'get'>
  body: Uint8Array
  /** The body was longer and is cut at `maxBytes`. */
  truncated: boolean
  /** After all redirects. */
  url: string
}

export interface Guard {
  /** Rejects with GuardRefused, GuardFailed (messages for the operator and the model) or `signal.reason`. */
  fetch(url: string, request: GuardedRequest): Promise<GuardedAnswer>
  /**
   * For libraries that want a fetch: the same guard, and the body as a stream. A redirect is refused; a body over 1 MiB and a silence of a
   * minute are errors. Ends with the signal it is given.
   */
  webFetch: typeof globalThis.fetch
  /**
   * For the operator: why nothing would be sent there, and what would help. Told by the address alone: its name is not looked up. Undefined
   * where it may be.
   */
  refusedAddress(url: string): string | undefined
  /** Ends what still runs. */
  close(): Promise<void>
}

export type GuardOptions = {
  /** `host:port` or `[address]:port`, as the settings give them: these may be private, and spoken to by http. */
  allowPrivateHosts: string[]
  /** Name servers other than the machine's own, as `address:port`. */
  nameServers?: string[]
}

// As much as a tool may answer.
const webFetchBytes = 1_048_576
// As long as the slowest tool may take; a stream that is silent for longer has been forgotten.
const webFetchSilenceMs = 60_000
// What goes along to another origin: nothing of it can be anybody's secret.
const plainHeaders = ['accept', 'content-type', 'idempotency-key']
// Set by the connection alone: from elsewhere they could make one request look like two, or reach another site on the server.
const connectionHeaders = ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'te', 'trailer', 'keep-alive']

type Hop = { url: string; method: string; headers: Record<string, string>; body: string | Uint8Array | undefined }

/** How far a request has come, its redirects included. */
type Way = { sent: boolean }

export function createGuard({ allowPrivateHosts, nameServers }: GuardOptions): Guard {
  const permitted = permittedPairs(allowPrivateHosts)
  const running = new Set<Deadline>()

  async function send(hop: Hop, within: Set<string>, maxBytes: number, { signal }: Deadline, way: Way): Promise<HopAnswer> {
    const target = readTarget(hop.url, within)
    const addresses = await resolveTarget(target, nameServers, signal)
    return exchange(target, addresses, { ...hop, maxBytes, signal, onConnection: () => void (way.sent = true) })
  }

  return {
    refusedAddress(url) {
      try {
        readTarget(url, permitted)
        return undefined
      } catch (error) {
        if (error instanceof GuardRefused) return error.forOperator
        throw error
      }
    },

    async fetch(url, request) {
      const deadline = new Deadline(request, request.timeoutMs, running)
      const way: Way = { sent: false }
      try {
        let hop: Hop = { url, method: request.method.toUpperCase(), headers: lowered(request.headers ?? {}), body: request.body }
        const within = reachableFrom(url, permitted)
        for (let followed = 0; ; followed++) {
          const answer = await deadline.bound(send(hop, within, request.maxBytes, deadline, way))
          const next = redirected(hop, answer)
          if (!next) return { ...(await deadline.bound(read(answer, request.maxBytes))), url: hop.url }
          answer.close()
          if (followed === request.redirects) throw tooManyRedirects(request.redirects)
          hop = next
        }
      } catch (error) {
        throw marked(deadline.reasonOf(error), way)
      } finally {
        deadline.end()
      }
    },

    async webFetch(input, init) {
      const request = new Request(input, init)
      const deadline = new Deadline(request, webFetchSilenceMs, running)
      const way: Way = { sent: false }
      try {
        const body = request.body ? new Uint8Array(await deadline.bound(request.arrayBuffer())) : undefined
        const hop = { url: request.url, method: request.method, headers: lowered(Object.fromEntries(request.headers)), body }
        const answer = await deadline.bound(send(hop, permitted, webFetchBytes, deadline, way))
        if (redirected(hop, answer)) throw tooManyRedirects(0)
        return response(answer, deadline)
      } catch (error) {
        const reason = marked(deadline.reasonOf(error), way)
        deadline.stop(reason)
        throw reason
      }
    },

    async close() {
      for (const deadline of running) deadline.stop(new GuardFailed('the service is shutting down'))
    },
  }
}

/** Only from the first connection on may anything have left. */
function marked(reason: unknown, { sent }: Way): unknown {
  if (reason instanceof GuardRefused || reason instanceof GuardFailed) reason.sent = sent
  return reason
}

async function read({ status, headers, body }: HopAnswer, maxBytes: number): Promise<Omit<GuardedAnswer, 'url'>> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > maxBytes) break
  }
  return { status, headers, body: new Uint8Array(Buffer.concat(pieces, Math.min(bytes, maxBytes))), truncated: bytes > maxBytes }
}

// Of these a web Response may have no body.
const withoutBody = [204, 205, 304]

function response(answer: HopAnswer, deadline: Deadline): Response {
  const { status, headers, body } = answer
  // they speak of the body as it was before it was decoded
  headers.delete('content-encoding')
  headers.delete('content-length')
  if (withoutBody.includes(status)) {
    deadline.end()
    answer.close()
    return new Response(null, { status, headers })
  }
  let bytes = 0
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await deadline.bound(body.next())
        deadline.refresh()
        if (next.done) {
          deadline.end()
          return controller.close()
        }
        bytes += next.value.length
        if (bytes > webFetchBytes) throw new GuardFailed(`the response body exceeds ${webFetchBytes} bytes`)
        controller.enqueue(new Uint8Array(next.value))
      } catch (error) {
        const reason = marked(deadline.reasonOf(error), { sent: true })
        deadline.stop(reason)
        throw reason
      }
    },
    cancel(reason) {
      deadline.stop(reason)
    },
  })
  return new Response(stream, { status, headers })
}

/** The request that a redirect asks for; undefined where the answer is none. */
function redirected(hop: Hop, { status, headers }: HopAnswer): Hop | undefined {
  const location = headers.get('location')
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined
  // its bytes are UTF-8, as browsers read them
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), hop.url)
  if (!url) throw new GuardRefused('the server redirects to an invalid URL')
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(hop.method) : status < 303 && hop.method === 'POST'
  const staysHome = url.origin === new URL(hop.url).origin
  const headersThere = Object.entries(hop.headers).filter(
    ([name]) => (staysHome || plainHeaders.includes(name)) && !(becomesGet && name === 'content-type'),
  )
  return {
    url: url.href,
    method: becomesGet ? 'GET' : hop.method,
    headers: Object.fromEntries(headersThere),
    body: becomesGet ? undefined : hop.body,
  }
}

function tooManyRedirects(allowed: number): GuardRefused {
  return new GuardRefused(
    allowed === 0 ? 'the server redirects, and redirects are not followed' : `the server redirects more than ${allowed} times`,
  )
}

function lowered(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return Object.fromEntries(entries.filter(([name]) => !connectionHeaders.includes(name)))
}
