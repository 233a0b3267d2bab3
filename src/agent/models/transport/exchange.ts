/**
 * Sends one POST to a model server and reads the streamed answer, on a keep-alive connection. Owns the socket and the deadlines of the
 * call. It does not retry or follow redirects, and knows no API: it passes the bytes of a 200 to an `AnswerReader`. Whether a failure is
 * `unavailable` or `refused` decides how the turn ends (`turn.states`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { ModelError } from '../model.ts'
import type { CauseKind } from '../../../cause-kinds.ts'
import { HttpRefusal } from './http-refusal.ts'
import { operatorText } from './operator-text.ts'

/**
 * Deadlines in milliseconds; see "Limits" in docs/spec.md. The connect deadline (5 s) belongs to the undici agent that opens the sockets.
 */
export type Deadlines = {
  /** From the start of the call to the first text, reasoning or tool call. */
  firstTokenMs: number
  /** Between two network reads after that. OpenAI sends a sign of life every 30 s while a model reasons. */
  idleMs: number
  /** From the finish to the end of the stream. Only the usage can still arrive, and the caller should not wait longer for it. */
  tailMs: number
}
export const defaultDeadlines: Deadlines = { firstTokenMs: 60_000, idleMs: 45_000, tailMs: 5_000 }

/**
 * `waiting`: nothing useful yet. `speaking`: generating. `finished`: the answer is complete, usage may follow. `done`: nothing more is
 * needed.
 */
export type Progress = 'waiting' | 'speaking' | 'finished' | 'done'

/** Reads the body of a 200. Any error it throws ends the call and closes the socket. */
export interface AnswerReader {
  /**
   * `mediaType` is in lower case and without parameters; empty if the server sent none. A reader that finds out about its progress only
   * after `take` has returned reports it with `advance`.
   */
  begin(mediaType: string, advance: (progress: Progress) => void): void
  take(bytes: Buffer): Progress
  /** Called when the body ended before `done`. Throws if the answer is incomplete. */
  end(): void
}

export type Call = {
  origin: string
  path: string
  headers: Record<string, string>
  body: string
  /** The API key, which is redacted from errors even if the server repeats it. */
  secret: string
  deadlines: Deadlines
  signal: AbortSignal
}

/** Resolves when the reader has a complete answer. Rejects with ModelError, or with `signal.reason` as soon as the signal aborts. */
export function exchange(dispatcher: Dispatcher, call: Call, reader: AnswerReader): Promise<void> {
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(call.signal.reason)
    const { origin, path, headers, body } = call
    // The client's timeouts are off, because it cannot tell useful data from keep-alive comments. The timer in Exchange can.
    dispatcher.dispatch(
      { origin, path, method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 },
      new Exchange(call, reader, resolve, reject),
    )
  })
}

class Exchange implements Dispatcher.DispatchHandler {
  /** Without the body: a prompt may be large, and an answer may take minutes. */
  readonly #call: Pick<Call, 'secret' | 'deadlines' | 'signal'>
  readonly #reader: AnswerReader
  readonly #resolve: () => void
  readonly #reject: (reason: unknown) => void
  readonly #onAbort = (): void => this.#fail(this.#call.signal.reason)
  #controller: Dispatcher.DispatchController | undefined
  #refusal: HttpRefusal | undefined
  #progress: Progress = 'waiting'
  #timer: NodeJS.Timeout
  #responding = false
  #settled = false
  #closed = false

  constructor({ secret, deadlines, signal }: Call, reader: AnswerReader, resolve: () => void, reject: (reason: unknown) => void) {
    this.#call = { secret, deadlines, signal }
    this.#reader = reader
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = this.#arm(deadlines.firstTokenMs)
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The call may have ended while the connection was being opened.
    if (this.#closed) controller.abort(callIsOver())
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#responding = true
    if (status === 200) this.#guard(() => this.#reader.begin(mediaType(headers), (progress) => this.#advance(progress)))
    else this.#refusal = new HttpRefusal(status, headers, this.#call.secret)
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#settled) return
    if (this.#refusal) {
      if (this.#refusal.take(bytes) === 'enough') this.#fail(this.#refusal.error())
      return
    }
    this.#guard(() => this.#advance(this.#reader.take(bytes)))
  }

  onResponseEnd(): void {
    // There is nothing left to abort, and the connection may already be in use by the next call.
    this.#controller = undefined
    if (this.#refusal) this.#fail(this.#refusal.error())
    else if (!this.#settled) this.#guard(() => this.#end())
    this.#close()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    const ours = code === 'UND_ERR_INVALID_ARG'
    const causeKind = ours ? 'provider_unusable' : this.#responding ? 'provider_interrupted' : (kinds[code] ?? 'provider_unreachable')
    const details = { said: operatorText(error.message, this.#call.secret), cause: error }
    this.#interrupt(
      new ModelError(ours ? 'refused' : 'unavailable', causeKind, `the request to the model server failed (${code})`, details),
    )
  }

  #advance(progress: Progress): void {
    if (this.#settled) return
    const before = this.#progress
    this.#progress = progress
    if (progress === 'speaking' && before === 'speaking') this.#timer.refresh()
    if (progress === before) return
    clearTimeout(this.#timer)
    this.#timer = this.#arm(progress === 'speaking' ? this.#call.deadlines.idleMs : this.#call.deadlines.tailMs)
    // The call is over, but the socket stays open until the end of the body, so that the connection can be reused.
    if (progress === 'done') this.#succeed()
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(
      () => this.#interrupt(new ModelError('unavailable', 'provider_timeout', `the model sent no data for ${ms} ms (${this.#progress})`)),
      ms,
    )
  }

  #end(): void {
    this.#reader.end()
    this.#succeed()
  }

  /** Handles a body that will not end normally. An error status or a complete answer that was already read is still the outcome. */
  #interrupt(error: ModelError): void {
    if (this.#refusal) this.#fail(this.#refusal.error())
    else if (this.#progress === 'finished') this.#succeed()
    else this.#fail(error)
    this.#close()
  }

  #guard(read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#fail(error)
    }
  }

  #succeed(): void {
    if (this.#settled) return
    this.#settled = true
    this.#call.signal.removeEventListener('abort', this.#onAbort)
    this.#resolve()
  }

  #fail(reason: unknown): void {
    if (this.#settled) return
    this.#settled = true
    this.#reject(reason)
    this.#close()
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#call.signal.removeEventListener('abort', this.#onAbort)
    this.#controller?.abort(callIsOver())
  }
}

/** By the code of the error of a connection. */
const kinds: Record<string, CauseKind> = { UND_ERR_CONNECT_TIMEOUT: 'provider_timeout', ETIMEDOUT: 'provider_timeout' }

const callIsOver = (): Error => new Error('the call is over')

const mediaType = (headers: IncomingHttpHeaders): string => (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
