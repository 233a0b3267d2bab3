/**
 * Writes the access log: one line per response, after the response is finished, except that a flood of refused requests is sampled. It only sees what the HTTP layer notes about a request, never a
 * body, header value, query string or raw path, so text from a caller cannot reach the log. docs/operate/metrics.md lists the fields.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { ApiError, FailureCode } from '../../errors.ts'
import type { BeginResult } from '../../turn/outcome.ts'

/** Contains only values of the service itself: IDs, route patterns and error codes. */
export type Noted = {
  /** Same as the `X-Request-ID` header of the response. */
  requestId?: string
  /** The route pattern; undefined if no route matched. */
  route?: string | undefined
  /** The ID of the authenticated API key. */
  keyId?: string
  agentId?: string
  /** Error code of the response, sent as JSON or as the `error` event. */
  code?: FailureCode
  replay?: boolean
  transport?: 'stream'
}

declare module 'node:http' {
  interface IncomingMessage {
    /** What the access log will contain for this request. */
    noted?: Noted
  }
}

export function note(request: IncomingMessage, noted: Noted): void {
  Object.assign((request.noted ??= {}), noted)
}

/** Notes the outcome of a message: the request ID of its turn, whether it was a replay, and the error of a failed turn. */
export function noteBeginResult(request: IncomingMessage, started: BeginResult, transport?: 'stream'): void {
  const streamed = transport && started.kind !== 'replayed_failure' ? { transport } : {}
  switch (started.kind) {
    case 'refused':
    case 'message_too_long':
      return
    case 'replay':
      return note(request, { requestId: started.reply.requestId, replay: true, ...streamed })
    case 'replayed_failure':
      return note(request, { requestId: started.requestId, replay: true })
    case 'running':
      note(request, { requestId: started.turn.requestId, replay: false, ...streamed })
      void started.turn.end.then((end) => end.kind === 'failed' && note(request, { code: end.code }))
  }
}

export type AccessLog = {
  /** Logs every response of this server from now on. */
  watch(server: Server): void
  /** Logs the response to bytes that never became a request. */
  refused(refusal: ApiError, requestId: string): void
}

// Codes of requests that anyone can send, as many as they like.
const sampledCodes = new Set<FailureCode | undefined>([
  'bad_request',
  'invalid_api_key',
  'method_not_allowed',
  'not_found',
  'rate_limit_exceeded',
  'unauthorized',
])
const sampleMs = 10_000
const sampleSize = 20

/** Passes the first lines of each code in ten seconds, and counts the others. */
function createSample(monotonicMs: () => number) {
  const windows = new Map<FailureCode, { endsAt: number; passed: number; suppressed: number }>()
  /** Returns the number of lines of this code that were not written since the last one, or undefined if this one is not written either. */
  return (code: FailureCode | undefined): number | undefined => {
    if (code === undefined || !sampledCodes.has(code)) return 0
    let window = windows.get(code)
    if (!window || window.endsAt <= monotonicMs()) {
      window = { endsAt: monotonicMs() + sampleMs, passed: 0, suppressed: window?.suppressed ?? 0 }
      windows.set(code, window)
    }
    if (window.passed === sampleSize) return void window.suppressed++
    const { suppressed } = window
    window.passed++
    window.suppressed = 0
    return suppressed
  }
}

/** `monotonicMs` only moves the windows of the sample. */
export function createAccessLog(log: Logger, monotonicMs: () => number): AccessLog {
  const sample = createSample(monotonicMs)
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    if (!log.isLevelEnabled('info')) return
    const startedAt = performance.now()
    const writtenBefore = request.socket.bytesWritten
    // The only event that every response emits, even if the caller has disconnected.
    response.once('close', () => {
      const { noted = {}, method, socket } = request
      const suppressed = sample(noted.code)
      if (suppressed === undefined) return
      log.info(
        {
          request_id: noted.requestId,
          method,
          route: noted.route,
          status: response.headersSent ? response.statusCode : undefined,
          code: noted.code,
          duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
          bytes: socket.bytesWritten - writtenBefore,
          transport: noted.transport ?? 'json',
          agent_id: noted.agentId,
          key_id: noted.keyId,
          replay: noted.replay,
          aborted: response.writableFinished ? undefined : true,
          suppressed: suppressed || undefined,
        },
        'request',
      )
    })
  }
  return {
    watch: (server) => void server.prependListener('request', begin),
    refused({ code, status }, requestId) {
      const suppressed = sample(code)
      if (suppressed !== undefined) log.info({ request_id: requestId, status, code, suppressed: suppressed || undefined }, 'request')
    },
  }
}
