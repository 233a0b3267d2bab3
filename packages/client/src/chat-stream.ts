/**
 * The reply to one message as it is written: events to iterate over, or the whole of it. Nothing is sent before somebody reads. Reads ahead of its
 * reader: a reply is small, and a slow reader must not let the service wait.
 */
import { TurnkeepError } from './errors.ts'
import type { ChatStreamEvent } from './reconcile.ts'
import type { ChatReply } from './wire.ts'

/** Sends the message and reads its reply, over all attempts. */
export type RunStream = (emit: (event: ChatStreamEvent) => void, signal: AbortSignal) => Promise<ChatReply>

export class ChatStream implements AsyncIterable<ChatStreamEvent> {
  /** The same key with the same message brings the same reply, for 24 hours. */
  readonly idempotencyKey: string
  readonly #run: RunStream
  readonly #signal: AbortSignal | undefined
  readonly #controller = new AbortController()
  /** What has come and was not yet read. */
  #unread: ChatStreamEvent[] = []
  #waiting: (() => void)[] = []
  #completed: Promise<ChatReply> | undefined
  #end: { error?: unknown } | undefined
  #iterated = false

  constructor(idempotencyKey: string, run: RunStream, signal: AbortSignal | undefined) {
    this.idempotencyKey = idempotencyKey
    this.#run = run
    this.#signal = signal
  }

  /** The whole reply, as `chat()` gives it. Sends the message where nobody reads yet. */
  get completed(): Promise<ChatReply> {
    return (this.#completed ??= this.#start())
  }

  /** The whole text. Sends the message where nobody reads yet. */
  async text(): Promise<string> {
    const { message } = await this.completed
    return message.content
  }

  /** Ends the connection; nothing more is sent. The turn may go on, and `idempotencyKey` brings its reply. After the last event: nothing. */
  abort(): void {
    if (this.#end) return
    this.#unread = []
    this.#controller.abort()
  }

  /** Once: what was read is gone. Leaving the loop early aborts. */
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
