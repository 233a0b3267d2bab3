/**
 * `tools.guard`: every request to an address that an operator, a document or a model named goes through here. Only public addresses over
 * https are reachable, except for the pairs of host and port that the settings allow; each redirect is checked like a new address. A name
 * is resolved only once per connection, a body is not decompressed beyond its limit, and errors never contain the resolved address.
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
  /** Milliseconds for the whole request: DNS, connection, redirects, headers and body. */
  timeoutMs: number
  /** Limit for the decoded body, which is cut there. */
  maxBytes: number
  /** Maximum number of redirects to follow; 0: a redirect is an error. */
  redirects: number
}

export type GuardedAnswer = {
  status: number
  /** Names are case-insensitive. */
  headers: Pick<Headers, 'get'>
  body: Uint8Array
  /** The body was longer and was cut at `maxBytes`. */
  truncated: boolean
  /** The URL after all redirects. */
  url: string
}

export interface Guard {
  /** Rejects with GuardRefused or GuardFailed, whose messages are for the operator and the model, or with `signal.reason`. */
  fetch(url: string, request: GuardedRequest): Promise<GuardedAnswer>
  /**
   * A fetch for libraries, with the same checks and the body as a stream. A redirect, a body over 1 MiB, and a minute without data are
   * errors. Ends when its signal is aborted.
   */
  webFetch: typeof globalThis.fetch
  /**
   * Returns for the operator why a request to this URL would be refused, and which setting would allow it; undefined if it is allowed. Only
   * checks the URL itself, without resolving the name.
   */
  refusedAddress(url: string): string | undefined
  /** Ends all running requests. */
  close(): Promise<void>
}

export type GuardOptions = {
  /** `host:port` or `[address]:port`, as in the settings. These may be private and may use http. */
  allowPrivateHosts: string[]
  /** Name servers to use in place of the system's, as `address:port`. */
  nameServers?: string[]
}

// The same limit as for an HTTP tool.
const webFetchBytes = 1_048_576
// The longest timeout a tool can have. A stream without data for this long is treated as abandoned.
const webFetchSilenceMs = 60_000
// The only headers that are sent on to another origin: none of them contains credentials.
const plainHeaders = ['accept', 'content-type', 'idempotency-key']
// Only the connection sets these headers. Set by a caller, they could make one request look like two, or select another site on the same
// server.
const connectionHeaders = ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'te', 'trailer', 'keep-alive']

type Hop = { url: string; method: string; headers: Record<string, string>; body: string | Uint8Array | undefined }

/** The progress of a request over all its redirects. `sent`: a request may have been sent. `redirect`: the status of the last redirect. */
type Way = { sent: boolean; redirect?: number }

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
          const next = redirected(hop, answer, way)
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
        if (redirected(hop, answer, way)) throw tooManyRedirects(0)
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

/** Adds to an error whether a request may have been sent, which is possible from the first connection on, and which redirect led to it. */
function marked(reason: unknown, { sent, redirect }: Way): unknown {
  if (reason instanceof GuardRefused || reason instanceof GuardFailed) reason.sent = sent
  if (reason instanceof GuardRefused) reason.redirect = redirect
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

// Statuses for which a web Response must not have a body.
const withoutBody = [204, 205, 304]

function response(answer: HopAnswer, deadline: Deadline): Response {
  const { status, headers, body } = answer
  // These headers describe the encoded body.
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

/** Returns the request that a redirect leads to; undefined if the answer is not a redirect. */
function redirected(hop: Hop, { status, headers }: HopAnswer, way: Way): Hop | undefined {
  const location = headers.get('location')
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined
  way.redirect = status
  // The header contains UTF-8, as browsers assume.
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
