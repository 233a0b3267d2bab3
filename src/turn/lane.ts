/**
 * A batching lane: what waits leaves together, and the next batch leaves when the one before it has returned. No timer, so a lone caller waits
 * for nothing, and an owner's hot row is locked once a batch and not once a turn (house, Batching).
 */
import type { Each } from '../store/store.ts'

// 64: with one flush a batch, more items add latency to the first without sparing much more (measured in the prototypes).
const mostItems = 64

type Waiting<Item, Outcome> = { item: Item; resolve(outcome: Outcome): void; reject(error: Error): void }

export class Lane<Item, Outcome extends { kind: string }> {
  readonly #send: (items: Item[]) => Promise<Each<Outcome>[]>
  readonly #keysOf: (item: Item) => string[]
  #waiting: Waiting<Item, Outcome>[] = []
  #sending = false

  /** `keysOf` names what may stand in one batch only once: an item whose key is taken waits for the next batch. */
  constructor(send: (items: Item[]) => Promise<Each<Outcome>[]>, keysOf: (item: Item) => string[]) {
    this.#send = send
    this.#keysOf = keysOf
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** The item's own outcome, told after its commit; rejects with its own error. */
  push(item: Item): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#sending) {
        this.#sending = true
        // What arrives in the same turn of the loop leaves in the first batch too.
        queueMicrotask(() => void this.#sendAll())
      }
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch()
      try {
        const outcomes = await this.#send(batch.map(({ item }) => item))
        for (const [index, { resolve, reject }] of batch.entries()) {
          const outcome = outcomes[index]!
          if (isError(outcome)) reject(outcome.error)
          else resolve(outcome)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error as Error)
      }
    }
    this.#sending = false
  }

  #takeBatch(): Waiting<Item, Outcome>[] {
    const batch: Waiting<Item, Outcome>[] = []
    const later: Waiting<Item, Outcome>[] = []
    const taken = new Set<string>()
    for (const waiting of this.#waiting) {
      const keys = batch.length < mostItems ? this.#keysOf(waiting.item) : []
      if (batch.length >= mostItems || keys.some((key) => taken.has(key))) {
        later.push(waiting)
        continue
      }
      for (const key of keys) taken.add(key)
      batch.push(waiting)
    }
    this.#waiting = later
    return batch
  }
}

const isError = <Outcome>(outcome: Each<Outcome>): outcome is { kind: 'error'; error: Error } =>
  (outcome as { kind: string }).kind === 'error'
