/**
 * Combines waiting items into batches. The next batch is sent when the previous one has returned, without a timer, so a single caller never
 * waits, and the row of a busy owner is locked once per batch instead of once per turn. If more items or bytes wait than fit in a batch,
 * owners take turns (`overload.queue`). No item is dropped; callers of `push` decide how many may wait.
 *
 * A batch is bounded by its bytes, too (src/store/budget.ts). What a store returns cannot be bounded here: the store answers `later` for
 * what would make the answer too large, and that item is sent again with the next batch. After a batch that failed as a whole, which is
 * how a deadline ends it, the next one is half as large. It grows again by one item per batch, so no set of items fails forever.
 */
import { maxBytes } from '../store/budget.ts'
import type { Each, Later } from '../store/store.ts'

// With one flush per batch, more items would add latency to the first and save little (measured in prototypes).
export const maxItems = 64

type Waiting<Item, Outcome> = {
  item: Item
  keys: string[]
  bytes: number
  shareOf: string
  onEarly: ((outcome: Outcome) => void) | undefined
  resolve(outcome: Outcome): void
  reject(error: Error): void
}

/** `onEarly`: for a store that reports outcomes before their commit is durable (`turn.durable-first`). */
type Send<Item, Outcome> = (items: Item[], onEarly: (index: number, outcome: Outcome) => void) => Promise<(Each<Outcome> | Later)[]>

export class Batcher<Item, Outcome extends { kind: string }> {
  readonly #send: Send<Item, Outcome>
  readonly #keysOf: (item: Item) => string[]
  readonly #bytesOf: (item: Item) => number
  #waiting: Waiting<Item, Outcome>[] = []
  #sending = false
  #limit = maxItems

  /**
   * `keysOf` returns keys that may occur only once per batch: an item with a key that is taken waits for the next batch. `bytesOf` returns
   * the size of an item. Both are called once per item.
   */
  constructor(send: Send<Item, Outcome>, keysOf: (item: Item) => string[], bytesOf: (item: Item) => number = () => 0) {
    this.#send = send
    this.#keysOf = keysOf
    this.#bytesOf = bytesOf
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Resolves with the outcome of this item after its commit, or rejects with its error. `shareOf` is the owner to whose share the item
   * counts. `onEarly` receives the outcome before its commit is durable, if the store reports it then.
   */
  push(item: Item, shareOf = '', onEarly?: (outcome: Outcome) => void): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, keys: this.#keysOf(item), bytes: this.#bytesOf(item), shareOf, onEarly, resolve, reject })
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
        this.#answer(batch, await this.#sendOne(batch))
      } catch (error) {
        this.#limit = halfOf(batch.length)
        for (const { reject } of batch) reject(error as Error)
      }
    }
    this.#sending = false
  }

  async #sendOne(batch: Waiting<Item, Outcome>[]): Promise<(Each<Outcome> | Later)[]> {
    let isAnswered = false
    const onEarly = (index: number, outcome: Outcome): void => {
      if (isAnswered) return
      const one = batch[index]!
      // It is called by the code that reads the store's answers, whose errors end the process.
      try {
        one.onEarly?.(outcome)
      } catch (error) {
        one.reject(error as Error)
      }
    }
    try {
      return await this.#send(
        batch.map(({ item }) => item),
        onEarly,
      )
    } finally {
      isAnswered = true
    }
  }

  #answer(batch: Waiting<Item, Outcome>[], outcomes: (Each<Outcome> | Later)[]): void {
    this.#limit = outcomes.every(isError) ? halfOf(batch.length) : Math.min(maxItems, this.#limit + 1)
    const later: Waiting<Item, Outcome>[] = []
    for (const [index, one] of batch.entries()) {
      // mutant: answers-of-a-batch-mixed-up
      const outcome = outcomes[index]!
      if (isError(outcome)) one.reject(outcome.error)
      else if (isLater(outcome)) later.push(one)
      else one.resolve(outcome)
    }
    // An item that a store never takes would be sent forever.
    if (later.length === batch.length) throw new Error('the store returned nothing for a batch')
    this.#waiting = later.concat(this.#waiting)
  }

  #takeBatch(): Waiting<Item, Outcome>[] {
    const fitTogether = this.#waiting.length <= this.#limit && this.#waiting.reduce((sum, one) => sum + one.bytes, 0) <= maxBytes
    const waiting = fitTogether ? this.#waiting : byTurns(this.#waiting)
    const batch: Waiting<Item, Outcome>[] = []
    const later: Waiting<Item, Outcome>[] = []
    const taken = new Set<string>()
    let bytes = 0
    let looked = 0
    for (; looked < waiting.length && batch.length < this.#limit && bytes < maxBytes; looked++) {
      const one = waiting[looked]!
      const fits = bytes === 0 || bytes + one.bytes <= maxBytes
      // Items with the same key keep their order, so the keys of a large item that waits are taken, too.
      if (!fits || one.keys.some((key) => taken.has(key))) later.push(one)
      else {
        batch.push(one)
        bytes += one.bytes
      }
      for (const key of one.keys) taken.add(key)
    }
    this.#waiting = later.concat(waiting.slice(looked))
    return batch
  }
}

const halfOf = (items: number): number => Math.max(1, Math.floor(items / 2))

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

const isError = <Outcome>(outcome: Each<Outcome> | Later): outcome is { kind: 'error'; error: Error } =>
  (outcome as { kind: string }).kind === 'error'
const isLater = <Outcome>(outcome: Each<Outcome> | Later): outcome is Later => (outcome as { kind: string }).kind === 'later'
