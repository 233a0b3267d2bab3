/**
 * A batching lane: what waits leaves together, and the next batch leaves when the one before it has returned. No timer, so a lone caller waits
 * for nothing, and an owner's hot row is locked once a batch and not once a turn (house, Batching). Where more wait than a batch holds, owners
 * take turns (`overload.queue`). Never drops what waits; how much may wait is decided by who pushes.
 */
import type { Each } from '../store/store.ts'

// 64: with one flush a batch, more items add latency to the first without sparing much more (measured in the prototypes).
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

  /** `keysOf` names what may stand in one batch only once: an item whose key is taken waits for the next batch. Asked once an item. */
  constructor(send: (items: Item[]) => Promise<Each<Outcome>[]>, keysOf: (item: Item) => string[]) {
    this.#send = send
    this.#keysOf = keysOf
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** The item's own outcome, told after its commit; rejects with its own error. `shareOf`: whose turn it takes where owners take turns. */
  push(item: Item, shareOf = ''): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, keys: this.#keysOf(item), shareOf, resolve, reject })
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
 * One of each owner, then the second of each, and so on; of one owner as they came. What does not leave now keeps this order, so that the next
 * batch goes on with those who had no turn in this one.
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
