/**
 * A run as a stream of events: of a message that is sent, of any turn that is followed, or of a preview. The schemas of the server define the
 * events.
 */
import { EventReader } from '../../../client/src/event-reader.ts'
import { ApiFailure, segment, send } from './client.ts'
import type { ChatEvent, Preview, PreviewEvent } from './types.ts'

type Named<Sent> = Sent extends { event: infer Name; data: infer Data } ? { type: Name } & Data : never

/**
 * By `type`: `response.created`, `response.output_text.delta`, and last one of `response.completed` and `error`. At
 * `response.output_text.reset`, the text starts again and is a different one.
 */
export type StreamEvent = Named<ChatEvent>
/** The last event of a turn. */
export type StreamEnd = Extract<StreamEvent, { type: 'response.completed' | 'error' }>

/** The failure of a stream as it is shown. */
export const failureOfStream = ({ code, message, request_id: requestId }: Extract<StreamEvent, { type: 'error' }>): ApiFailure =>
  new ApiFailure({ status: 200, code, message, requestId })

type Streamed = {
  signal?: AbortSignal
  /** Created with a message and sent again with the same message, so that it is answered and charged once. */
  idempotencyKey?: string
  onEvent: (event: StreamEvent) => void
}

/**
 * Sends a message and calls `onEvent` for each event in order. Resolves with the last event. Throws ApiFailure if the message is refused,
 * and `connection_lost` if the stream ends before its last event: the turn may continue. If aborted, rejects with the same error as fetch.
 */
export async function streamTurn(path: string, body: unknown, { signal, idempotencyKey, onEvent }: Streamed): Promise<StreamEnd> {
  const response = await send(path, {
    method: 'POST',
    body,
    ...(idempotencyKey === undefined ? {} : { headers: { 'Idempotency-Key': idempotencyKey } }),
    ...(signal ? { signal } : {}),
  })
  for await (const { event } of readEvents(response, signal)) {
    onEvent(event)
    if (event.type === 'response.completed' || event.type === 'error') return event
  }
  throw lost(response)
}

type Followed = { signal: AbortSignal; after: string | undefined; onEvent: (event: StreamEvent, id: string | undefined) => void }

/** Follows a turn, after the event with the ID `after` if there is one. Resolves with its last event. Throws as `streamTurn`. */
export async function followTurn(
  requestId: string,
  { signal, after, onEvent }: Followed,
): Promise<'response.completed' | 'error' | 'nothing left'> {
  const headers: Record<string, string> = after === undefined ? {} : { 'Last-Event-ID': after }
  const response = await send(`/turns/${segment(requestId)}/stream`, { headers, signal })
  if (response.status === 204) return 'nothing left'
  for await (const { event, id } of readEvents(response, signal)) {
    onEvent(event, id)
    if (event.type === 'response.completed' || event.type === 'error') return event.type
  }
  throw lost(response)
}

/**
 * Runs a message that is not stored, and calls `onText` for each piece of its text, and `onReset` if the text so far is taken back. Throws as `streamTurn`, and the failure of a run without a result.
 */
export async function streamPreview(
  path: string,
  body: unknown,
  { signal, onText, onReset }: { signal: AbortSignal; onText: (text: string) => void; onReset: () => void },
): Promise<Preview> {
  const response = await send(path, { method: 'POST', body, headers: { Accept: 'text/event-stream' }, signal })
  const ended = (): ApiFailure => lost(response, 'The run has ended. Nothing was stored or charged.')
  for await (const { event } of readEvents<Named<PreviewEvent>>(response, signal, ended)) {
    if (event.type === 'preview.completed') return event
    if (event.type === 'error') throw failureOfStream(event)
    if (event.type === 'response.output_text.reset') onReset()
    else onText(event.delta)
  }
  throw ended()
}

async function* readEvents<Event extends { type: string } = StreamEvent>(
  response: Response,
  signal?: AbortSignal,
  whenLost = lost,
): AsyncGenerator<{ event: Event; id: string | undefined }> {
  const bytes = readBody(response, (error) => (signal?.aborted ? error : whenLost(response)))
  const events = new EventReader()
  for await (const chunk of bytes) {
    for (const { name, data, id } of events.push(chunk)) {
      if (known.includes(name)) yield { event: { type: name, ...(JSON.parse(data) as object) } as Event, id }
    }
  }
}

const turnGoesOn = 'The turn may still be running; its reply will be stored and charged once.'

const lost = ({ headers }: Response, consequence = turnGoesOn): ApiFailure =>
  new ApiFailure({
    status: 0,
    code: 'connection_lost',
    message: `The connection was lost before the reply was complete. ${consequence}`,
    requestId: headers.get('x-request-id'),
  })

const known: readonly string[] = [
  'response.created',
  'response.output_text.delta',
  'response.output_text.reset',
  'response.completed',
  'preview.completed',
  'error',
] satisfies (StreamEvent | Named<PreviewEvent>)['type'][]

/** Not every browser can iterate over a body. `failed` converts the error of an interrupted read. */
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
    // The consumer has stopped, so a failure to cancel has no one to report to.
    await reader.cancel().catch(() => undefined)
  }
}
