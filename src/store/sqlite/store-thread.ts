/** The main thread's side of a store thread: calls with an ID, answered in any order. If the thread crashes, the process ends. */
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { Worker } from 'node:worker_threads'
import { within } from '../../deadline.ts'
import { StoreUnavailable } from '../store.ts'
import { SchemaRefused } from '../schema-refused.ts'
import { fromWire, unpack } from './protocol.ts'
import type { Call, EarlyAnswer, Opened, SentAnswer, ThreadData, WireOutcome } from './protocol.ts'

export type OnEarlyOutcome = (index: number, outcome: WireOutcome) => void

type Waiting = {
  resolve(outcomes: SentAnswer['outcomes']): void
  reject(error: Error): void
  reportEarly(outcomes: EarlyAnswer['early']): void
}

export class StoreThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1
  #closed = false

  /** Starts the thread, which has not opened anything yet. */
  constructor(file: URL, data: ThreadData) {
    // A thread does not inherit the process's compile cache. With it in the environment, it starts in a third of the time.
    const cache = getCompileCacheDir()
    this.#worker = new Worker(file, { workerData: data, env: { ...process.env, ...(cache ? { NODE_COMPILE_CACHE: cache } : {}) } })
  }

  /** Throws SchemaRefused, StoreUnavailable, or an internal error. The thread has then ended. */
  async open(): Promise<void> {
    this.#post({ id: 0, operation: 'open', items: [] })
    const [opened] = (await once(this.#worker, 'message')) as [Opened]
    if (!opened.opened) {
      this.#closed = true
      await this.#worker.terminate()
      if (opened.refusal === 'schema') throw new SchemaRefused(opened.message)
      if (opened.refusal === 'unavailable') throw new StoreUnavailable(opened.message)
      throw new Error(opened.message)
    }
    this.#worker.on('message', (answer: SentAnswer | EarlyAnswer) => {
      if ('early' in answer) return this.#waiting.get(answer.id)?.reportEarly(answer.early)
      const waiting = this.#waiting.get(answer.id)
      this.#waiting.delete(answer.id)
      waiting?.resolve(answer.outcomes)
    })
  }

  /**
   * One outcome per item. Rejects only if the thread is closed. `onEarly`: called with outcomes whose commit is not durable yet. Of these, an
   * outcome holds if the same object is returned.
   */
  call(operation: string, items: unknown[], onEarly?: OnEarlyOutcome): Promise<WireOutcome[]> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    const id = this.#nextId++
    const early = new Map<number, WireOutcome>()
    const read = (sent: SentAnswer['outcomes'][number], index: number): WireOutcome =>
      sent === 'as reported early' ? early.get(index)! : operation === 'admit' ? unpack(sent) : sent
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {
        resolve: (outcomes) => resolve(outcomes.map(read)),
        reject,
        reportEarly(outcomes) {
          for (const [index, packed] of outcomes) {
            const outcome = unpack(packed)
            early.set(index, outcome)
            onEarly?.(index, outcome)
          }
        },
      })
      this.#post({ id, operation, items })
    })
  }

  /** Returns the value of a call with one item, or throws its error. */
  async ask(operation: string, item: unknown): Promise<unknown> {
    const [outcome] = await this.call(operation, [item])
    if ('error' in outcome!) throw fromWire(outcome.error)
    return outcome!.value
  }

  /** Ends the thread after the previous calls; with `limitMs`, those that have no answer by then are rejected. */
  async close(limitMs?: number): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const exited = once(this.#worker, 'exit')
    this.#post({ id: 0, operation: 'close', items: [] })
    if (limitMs !== undefined) await within<unknown>(limitMs, exited, () => this.#worker.terminate())
    await exited
    for (const { reject } of this.#waiting.values()) reject(new StoreUnavailable('the store is closed'))
    this.#waiting.clear()
  }

  #post(call: Call): void {
    this.#worker.postMessage(call)
  }
}
