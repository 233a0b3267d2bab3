/**
 * A reply while it is generated: events to iterate over, or the whole reply. Nothing is sent before it is read. It reads ahead of its
 * consumer, because a reply is small and a slow consumer must not delay the service.
 */
import { TurnkeepError } from './errors.ts'
import type { ChatStreamEvent } from './reconcile.ts'
import type { ChatReply } from './wire.ts'

/** Reads the reply over all attempts, after it has sent the message if there is one. */
export type RunStream = (emit: (event: ChatStreamEvent) => void, signal: AbortSignal) => Promise<ChatReply>

export class ReplyStream implements AsyncIterable<ChatStreamEvent> {
  readonly #run: RunStream
  readonly #signal: AbortSignal | undefined
  readonly #controller = new AbortController()
  /** Received events that have not been read yet. */
  #unread: ChatStreamEvent[] = []
  #waiting: (() => void)[] = []
  #completed: Promise<ChatReply> | undefined
  #end: { error?: unknown } | undefined
  #iterated = false

  constructor(run: RunStream, signal: AbortSignal | undefined) {
    this.#run = run
    this.#signal = signal
  }

  /** The whole reply, as `chat()` returns it. Starts the stream if it has not been read. */
  get completed(): Promise<ChatReply> {
    return (this.#completed ??= this.#start())
  }

  /** The whole text. Starts the stream if it has not been read. */
  async text(): Promise<string> {
    const { message } = await this.completed
    return message.content
  }

  /**
   * Closes the connection and sends nothing more. The turn may continue: `client.turns.stream` with its request ID, or a call with the same
   * Idempotency-Key, returns its reply. Has no effect after the last event.
   */
  abort(): void {
    if (this.#end) return
    this.#unread = []
    this.#controller.abort()
  }

  /** Can be iterated once, because events are not kept. Leaving the loop early aborts the stream. */
  [Symbol.asyncIterator](): AsyncIterator<ChatStreamEvent, void, undefined> {
    if (this.#iterated) throw new TurnkeepError('A stream can be iterated once. What it said as a whole is in .completed.')
    this.#iterated = true
    let done = false
    return {
      next: async () => {
        void this.completed
        for (;;) {
          if (done) return { done, value: undefined }
          const value = this.#unread.shift()
          if (value) return { done: false, value }
          if (!this.#end) await new Promise<void>((resolve) => this.#waiting.push(resolve))
          else {
            done = true
            if ('error' in this.#end) throw this.#end.error
          }
        }
      },
      return: async () => {
        done = true
        this.abort()
        this.#wake()
        return { done, value: undefined }
      },
    }
  }

  #start(): Promise<ChatReply> {
    const onAbort = (): void => {
      this.#unread = []
      this.#controller.abort(this.#signal?.reason)
    }
    if (this.#signal?.aborted) onAbort()
    else this.#signal?.addEventListener('abort', onAbort, { once: true })
    const completed = this.#run((event) => this.#emit(event), this.#controller.signal)
    completed
      .then(
        () => (this.#end = {}),
        (error: unknown) => (this.#end = { error }),
      )
      .then(() => {
        this.#signal?.removeEventListener('abort', onAbort)
        this.#wake()
      })
    return completed
  }

  #emit(event: ChatStreamEvent): void {
    if (this.#controller.signal.aborted) return
    this.#unread.push(event)
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

/** The reply to a message that this stream sends. */
export class ChatStream extends ReplyStream {
  /** The same key with the same message returns the same reply for 24 hours. */
  readonly idempotencyKey: string

  constructor(idempotencyKey: string, run: RunStream, signal: AbortSignal | undefined) {
    super(run, signal)
    this.idempotencyKey = idempotencyKey
  }
}
