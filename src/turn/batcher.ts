/**
 * Combines waiting items into batches. The next batch is sent when the previous one has returned, without a timer, so a single caller never
 * waits, and the row of a busy owner is locked once per batch instead of once per turn. If more items wait than fit in a batch, owners take
 * turns (`overload.queue`). No item is dropped; callers of `push` decide how many may wait.
 */
import type { Each } from '../store/store.ts'

// With one flush per batch, more items would add latency to the first and save little (measured in prototypes).
export const maxItems = 64

type Waiting<Item, Outcome> = {
  item: Item
  keys: string[]
  shareOf: string
  resolve(outcome: Outcome): void
  reject(error: Error): void
}

export class Batcher<Item, Outcome extends { kind: string }> {
  readonly #send: (items: Item[]) => Promise<Each<Outcome>[]>
  readonly #keysOf: (item: Item) => string[]
  #waiting: Waiting<Item, Outcome>[] = []
  #sending = false

  /** Returns keys that may occur only once per batch: an item with a key that is taken waits for the next batch. Called once per item. */
  constructor(send: (items: Item[]) => Promise<Each<Outcome>[]>, keysOf: (item: Item) => string[]) {
    this.#send = send
    this.#keysOf = keysOf
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Resolves with the outcome of this item after its commit, or rejects with its error. `shareOf` is the owner to whose share the item
   * counts.
   */
  push(item: Item, shareOf = ''): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, keys: this.#keysOf(item), shareOf, resolve, reject })
      if (!this.#sending) {
        this.#sending = true
        // Items that arrive in the same tick of the event loop go into the first batch, too.
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
    const waiting = this.#waiting.length > maxItems ? byTurns(this.#waiting) : this.#waiting
    const batch: Waiting<Item, Outcome>[] = []
    const later: Waiting<Item, Outcome>[] = []
    const taken = new Set<string>()
    let looked = 0
    for (; looked < waiting.length && batch.length < maxItems; looked++) {
      const one = waiting[looked]!
      if (one.keys.some((key) => taken.has(key))) {
        later.push(one)
        continue
      }
      for (const key of one.keys) taken.add(key)
      batch.push(one)
    }
    this.#waiting = later.concat(waiting.slice(looked))
    return batch
  }
}

/**
 * Takes the first item of each owner, then the second of each, and so on, keeping the order within an owner. What is left keeps this order,
 * so the next batch continues with the owners that were not served in this one.
 */
function byTurns<One extends { shareOf: string }>(waiting: One[]): One[] {
  let owners = [...Map.groupBy(waiting, ({ shareOf }) => shareOf).values()]
  if (owners.length === 1) return waiting
  const order: One[] = []
  for (let turn = 0; owners.length > 0; turn++) {
    for (const own of owners) order.push(own[turn]!)
    owners = owners.filter((own) => own.length > turn + 1)
  }
  return order
}

const isError = <Outcome>(outcome: Each<Outcome>): outcome is { kind: 'error'; error: Error } =>
  (outcome as { kind: string }).kind === 'error'
