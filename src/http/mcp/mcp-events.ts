/**
 * Writes the event stream of one MCP request: progress, comments that keep the connection open, and the result. Only listens: a caller that
 * leaves or stops reading does not affect the turn (`stream.slow-reader`, `overload.unread`).
 */
import type { ServerResponse } from 'node:http'
import { failures } from '../../errors.ts'
import type { StreamOptions } from '../public/event-stream.ts'
import { cutOffWhenStalled } from '../public/slow-reader.ts'

const internalError = -32_603

/** Of a JSON-RPC request, whose answer has the same ID. */
export const idOf = (message: unknown): string | number | null =>
  typeof message === 'object' && message !== null && 'id' in message && (typeof message.id === 'string' || typeof message.id === 'number')
    ? message.id
    : null

/** Returns the answer in the events that the SDK wrote: the last message, after those about progress. */
export function answerIn(events: string): string {
  const messages = events.split('\n').filter((line) => line.startsWith('data: {'))
  return messages.at(-1)?.slice('data: '.length) ?? ''
}

/**
 * `id`: of the JSON-RPC request. The headers are sent with the first event, because until then the request ID of the turn is not known. Resolves when all is written or the
 * caller has left. Never rejects.
 */
export async function writeEvents(
  response: ServerResponse,
  events: ReadableStream<Uint8Array>,
  { times, unread, log }: StreamOptions,
  requestId: () => string,
  id: unknown,
): Promise<void> {
  const refused = { code: internalError, message: `service_unavailable: ${failures.service_unavailable.message}` }
  const refusal = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error: refused })}\n\n`

  const reader = events.getReader()
  const watchReader = cutOffWhenStalled(response, times)
  const leave = (): void => void reader.cancel().catch(() => undefined)
  response.once('close', leave)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (response.destroyed) return
      if (!response.headersSent) {
        response.writeHead(200, {
          'x-request-id': requestId(),
          'content-type': 'text/event-stream',
          'cache-control': 'no-cache, no-transform',
          'x-content-type-options': 'nosniff',
          'x-accel-buffering': 'no',
        })
      }
      if (done) break
      // The reply is in the last event, so a call with the same key gets it again.
      const isTaken = unread.take(response, value.length)
      response.write(isTaken ? value : refusal)
      watchReader()
      if (!isTaken) break
    }
    response.end()
    watchReader()
  } catch (error) {
    log.error({ err: error, request_id: requestId() }, 'MCP event stream failed, closing the connection')
    response.destroy()
  }
}
