/**
 * A reply as the UI message stream of the AI SDK, for `useChat` in a browser: the published format, written here, so that the package `ai` is
 * not needed on the server. https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
 */
import { APIError, APIUserAbortError } from './errors.ts'
import type { ChatStreamEvent } from './reconcile.ts'

type StartOrEnd = Extract<ChatStreamEvent, { type: 'response.created' | 'response.completed' }>

export type UIMessageStreamResponseOptions = {
  /** The status of the response; default 200. */
  status?: number | undefined
  statusText?: string | undefined
  /** Added to the headers of the format, which they may replace. */
  headers?: ConstructorParameters<typeof Headers>[0] | undefined
  /**
   * Called once if the reply fails. Returns the text of the `error` that `useChat` gets. By default it says that the reply failed, without a
   * reason, because the reason may be none of the end user's business. Log the error here.
   */
  onError?: ((error: unknown) => string) | undefined
  /** Called for the first and the last event. What it returns becomes the `metadata` of the message; undefined adds nothing. */
  messageMetadata?: ((event: StartOrEnd) => unknown) | undefined
}

/** The parts of the format that a reply needs. */
type Part =
  | { type: 'start'; messageId: string; messageMetadata?: unknown }
  | { type: 'text-start' | 'text-end'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  /** Discards the parts that the message has so far. */
  | { type: 'reset-step' }
  | { type: 'finish'; finishReason: 'stop' | 'other'; messageMetadata?: unknown }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason?: string }

/**
 * Streams a reply to `useChat`: pass `client.stream(…)` in the route that receives the message, and `client.turns.stream(requestId)` in the
 * route that resumes it. In both, the ID of the message is the request ID, so a reply that is resumed replaces what the page has of it.
 *
 * The text is one text part. If the turn was run again and its text differs, the part ends, is discarded by `reset-step` (AI SDK 7), and
 * another part starts: the page shows only the new text. A reply that was canceled after some text finishes with the reason `other` instead
 * of `stop`; one that was canceled before any text is an `abort`, and so is a stream that you abort. Other failures are an `error`.
 *
 * Reading starts with the response's body. If the browser disconnects, the stream is aborted and the turn continues. Never throws.
 */
export function toUIMessageStreamResponse(
  stream: AsyncIterable<ChatStreamEvent>,
  { status = 200, statusText, headers, onError, messageMetadata }: UIMessageStreamResponseOptions = {},
): Response {
  const events = stream[Symbol.asyncIterator]()
  const parts = new PartsOfReply(onError, messageMetadata)
  const encoder = new TextEncoder()
  let canceled = false
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const write = (data: string): void => {
          if (!canceled) controller.enqueue(encoder.encode(`data: ${data}\n\n`))
        }
        const { next, isLast } = await parts.read(events)
        for (const part of next) write(JSON.stringify(part))
        if (!isLast) return
        write('[DONE]')
        if (!canceled) controller.close()
      },
      async cancel() {
        canceled = true
        await events.return?.()
      },
    },
    // Without a buffer, which would be filled before the body is read.
    { highWaterMark: 0 },
  )
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(usualHeaders)) if (!all.has(name)) all.set(name, value)
  return new Response(body, { status, headers: all, ...(statusText === undefined ? {} : { statusText }) })
}

const usualHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
}

class PartsOfReply {
  readonly #onError: (error: unknown) => string
  readonly #messageMetadata: (event: StartOrEnd) => unknown
  /** The number of text parts that have ended. */
  #ended = 0
  #isOpen = false

  constructor(onError: UIMessageStreamResponseOptions['onError'], messageMetadata: UIMessageStreamResponseOptions['messageMetadata']) {
    this.#onError = onError ?? (() => 'The reply could not be completed. Try again.')
    this.#messageMetadata = messageMetadata ?? (() => undefined)
  }

  /** The parts of the next event, at least one unless it is the last. Never rejects. */
  async read(events: AsyncIterator<ChatStreamEvent>): Promise<{ next: Part[]; isLast: boolean }> {
    try {
      const { done, value } = await events.next()
      return done ? { next: this.#close(), isLast: true } : { next: this.#partsOf(value), isLast: false }
    } catch (error) {
      return { next: [...this.#close(), this.#failed(error)], isLast: true }
    }
  }

  #partsOf(event: ChatStreamEvent): Part[] {
    switch (event.type) {
      case 'response.created':
        return [{ type: 'start', messageId: event.requestId, ...this.#metadataOf(event) }]
      case 'response.output_text.delta':
        return [...this.#open(), { type: 'text-delta', id: this.#id, delta: event.delta }]
      case 'response.output_text.reset':
        return [...this.#close(), { type: 'reset-step' }]
      case 'response.completed': {
        const finishReason = event.message.incomplete ? 'other' : 'stop'
        return [...this.#close(), { type: 'finish', finishReason, ...this.#metadataOf(event) }]
      }
    }
  }

  get #id(): string {
    return `text-${this.#ended + 1}`
  }

  #open(): Part[] {
    if (this.#isOpen) return []
    this.#isOpen = true
    return [{ type: 'text-start', id: this.#id }]
  }

  #close(): Part[] {
    if (!this.#isOpen) return []
    const end: Part = { type: 'text-end', id: this.#id }
    this.#isOpen = false
    this.#ended += 1
    return [end]
  }

  #failed(error: unknown): Part {
    if (error instanceof APIUserAbortError) return { type: 'abort' }
    if (error instanceof APIError && error.code === 'turn_cancelled') return { type: 'abort', reason: error.code }
    return { type: 'error', errorText: this.#onError(error) }
  }

  #metadataOf(event: StartOrEnd): { messageMetadata?: unknown } {
    const messageMetadata = this.#messageMetadata(event)
    return messageMetadata === undefined ? {} : { messageMetadata }
  }
}
