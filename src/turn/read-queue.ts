/**
 * Reads of callers that wait for a few connections of the store: a few run at a time, and owners take turns, so that a thousand reads of one
 * owner delay the next read of another one by a few milliseconds (`overload.reads`). While the store does not answer, those that wait fail
 * with those that ran: each of them would wait for as long, one after the other.
 */
import { maxBytes } from '../store/budget.ts'
import { StoreUnavailable } from '../store/store.ts'
import { Batcher } from './batcher.ts'

// PostgreSQL has two connections for each kind of read, and every other read of the process needs them too.
const atATime = 2

type Read = { place: number; read: () => Promise<unknown> }
type Outcome = { kind: 'read'; value: unknown }

export class ReadQueue {
  #pushed = 0
  /** The last error of a store that did not answer, and the last read that waited then. */
  #away: { error: StoreUnavailable; place: number } | undefined
  readonly #batcher = new Batcher<Read, Outcome>(
    (reads) => Promise.all(reads.map((read) => this.#run(read).catch((error: Error) => ({ kind: 'error' as const, error })))),
    () => [],
    () => maxBytes / atATime,
  )

  /** Runs `read` when it is the turn of the owner `shareOf`. Rejects with its error. */
  async run<Value>(shareOf: string, read: () => Promise<Value>): Promise<Value> {
    return (await this.#batcher.push({ place: ++this.#pushed, read }, shareOf)).value as Value
  }

  async #run({ place, read }: Read): Promise<Outcome> {
    if (this.#away && place <= this.#away.place) throw this.#away.error
    try {
      return { kind: 'read', value: await read() }
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#away = { error, place: this.#pushed }
      throw error
    }
  }
}
