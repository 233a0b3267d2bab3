/** A turn as its events come: what the playground and the first chat show while the reply is written. The server's own schemas say what an event is. */
import { ApiFailure, send } from './client.ts'
import { readEvents } from './event-reader.ts'
import type { ChatEvent } from './types.ts'

type Named<Sent> = Sent extends { event: infer Name; data: infer Data } ? { type: Name } & Data : never

/** By `type`: `response.created`, `response.output_text.delta`, and last one of `response.completed` and `error`. */
export type StreamEvent = Named<ChatEvent>
/** How a turn ends. */
export type StreamEnd = Extract<StreamEvent, { type: 'response.completed' | 'error' }>

/** The stream's failure, as it is shown. */
export const failureOfStream = ({ code, message, request_id: requestId }: Extract<StreamEvent, { type: 'error' }>): ApiFailure =>
  new ApiFailure({ status: 200, code, message, requestId })

type Streamed = {
  signal?: AbortSignal
  /** Sent with a message once made, and again with the same message, so that it is answered and charged once. */
  idempotencyKey?: string
  onEvent: (event: StreamEvent) => void
}

/**
 * Posts a message and tells its events in order; resolves with the last one, which `onEvent` has had too. Throws ApiFailure where the message is
 * refused, and `connection_lost` where the stream ends or breaks before its last event: the turn may go on. An abort is thrown as fetch does.
 */
export async function streamTurn(path: string, body: unknown, { signal, idempotencyKey, onEvent }: Streamed): Promise<StreamEnd> {
  const response = await send(path, {
    method: 'POST',
    body,
    ...(idempotencyKey === undefined ? {} : { headers: { 'Idempotency-Key': idempotencyKey } }),
    ...(signal ? { signal } : {}),
  })
  const lost = (): Error =>
    new ApiFailure({
      status: 0,
      code: 'connection_lost',
      message:
        'The connection was lost before the reply was complete. The turn may still be running; its reply will be stored and charged once.',
      requestId: response.headers.get('x-request-id'),
    })
  const bytes = readBody(response, (error) => (signal?.aborted ? error : lost()))
  for await (const { name, data } of readEvents(bytes)) {
    if (!isKnown(name)) continue
    const event = { type: name, ...(JSON.parse(data) as object) } as StreamEvent
    onEvent(event)
    if (event.type === 'response.completed' || event.type === 'error') return event
  }
  throw lost()
}

const known: readonly string[] = [
  'response.created',
  'response.output_text.delta',
  'response.completed',
  'error',
] satisfies StreamEvent['type'][]
const isKnown = (name: string): name is StreamEvent['type'] => known.includes(name)

/** Not every browser iterates over a body by itself. `failed` says what is thrown where reading breaks off. */
async function* readBody({ body }: Response, failed: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  if (!body) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw failed(error)
      })
      if (done) return
      yield value
    }
  } finally {
    // Who stops listening, stops reading; there is nobody left to tell that it fails.
    await reader.cancel().catch(() => undefined)
  }
}
