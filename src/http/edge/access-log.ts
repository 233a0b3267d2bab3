/**
 * The access log: one line for each answer, when its connection is done with it. Knows what the door notes of a request and nothing else: never a
 * body, a header's value, a query string or a path as it was sent, so no text of a caller can reach the log. docs/operate/metrics.md lists
 * the fields.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { ApiError, FailureCode } from '../../errors.ts'
import type { BeginResult } from '../../turn/outcome.ts'

/** All of it ours: ids we gave out, a route's pattern, words of our tables. */
export type Noted = {
  /** As in the answer's `X-Request-ID`. */
  requestId?: string
  /** The pattern; absent where there is no such route. */
  route?: string | undefined
  /** Of the authenticated key. */
  keyId?: string
  agentId?: string
  /** Of the failure that was answered, in an envelope or as the `error` event. */
  code?: FailureCode
  replay?: boolean
  transport?: 'stream'
}

declare module 'node:http' {
  interface IncomingMessage {
    /** What the access log will say of this request. */
    noted?: Noted
  }
}

export function note(request: IncomingMessage, noted: Noted): void {
  Object.assign((request.noted ??= {}), noted)
}

/** What a message became: whose answer it is, whether it is a replay, and how a stream ended. */
export function noteBeginResult(request: IncomingMessage, begun: BeginResult, transport?: 'stream'): void {
  const streamed = transport && begun.kind !== 'replayed_failure' ? { transport } : {}
  switch (begun.kind) {
    case 'refused':
    case 'message_too_long':
      return
    case 'replay':
      return note(request, { requestId: begun.reply.requestId, replay: true, ...streamed })
    case 'replayed_failure':
      return note(request, { requestId: begun.requestId, replay: true })
    case 'running':
      note(request, { requestId: begun.turn.requestId, replay: false, ...streamed })
      void begun.turn.end.then((end) => end.kind === 'failed' && note(request, { code: end.code }))
  }
}

export type AccessLog = {
  /** Logs every answer of this server from now on. */
  watch(server: Server): void
  /** Logs the answer to bytes that never became a request. */
  refused(refusal: ApiError, requestId: string): void
}

export function createAccessLog(log: Logger): AccessLog {
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    if (!log.isLevelEnabled('info')) return
    const startedAt = performance.now()
    const writtenBefore = request.socket.bytesWritten
    // The one event that every response has, also one whose caller has left.
    response.once('close', () => {
      const { noted = {}, method, socket } = request
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
        },
        'request',
      )
    })
  }
  return {
    watch: (server) => void server.prependListener('request', begin).prependListener('checkExpectation', begin),
    refused: ({ code, status }, requestId) => log.info({ request_id: requestId, status, code }, 'request'),
  }
}
