/**
 * Writes the event stream of one MCP request: progress, comments that keep the connection open, and the result. Only listens: a caller that
 * leaves or stops reading does not affect the turn (`stream.slow-reader`, `overload.unread`).
 */
import type { ServerResponse } from 'node:http'
import type { StreamOptions } from '../public/event-stream.ts'
import { cutOffWhenStalled } from '../public/slow-reader.ts'

/** Returns the answer in the events that the SDK wrote: the last message, after those about progress. */
export function answerIn(events: string): string {
  const messages = events.split('\n').filter((line) => line.startsWith('data: {'))
  return messages.at(-1)?.slice('data: '.length) ?? ''
}

/**
 * The headers are sent with the first event, because until then the request ID of the turn is not known. Resolves when all is written or the
 * caller has left. Never rejects.
 */
export async function writeEvents(
  response: ServerResponse,
  events: ReadableStream<Uint8Array>,
  { times, unread, log }: StreamOptions,
  requestId: () => string,
): Promise<void> {
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
      if (!unread.take(response, value.length)) return void response.destroy()
      response.write(value)
      watchReader()
    }
    response.end()
    watchReader()
  } catch (error) {
    log.error({ err: error, request_id: requestId() }, 'MCP event stream failed, closing the connection')
    response.destroy()
  }
}
