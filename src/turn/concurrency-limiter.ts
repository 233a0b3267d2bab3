/**
 * Decides which messages may start a turn if there are not enough slots for all (`overload.places`). One owner cannot take all slots while
 * others send messages. A refusal costs one map lookup. docs/decisions/0025-overload.md explains the arithmetic.
 */

/** Returns the slot. Call it once. */
export type Release = () => void

// While others send messages, an owner may hold nine times the number of free slots: 90 % for a single owner, 47 % each for two, 9.9 % each
// for ten. So some slots are always left for the next owner.
const timesFree = 9
// How long an owner counts as one of several after another owner's message. It is longer than any turn, so slots that an owner took while
// it was alone have been returned. If it were shorter, an owner that pauses would find no slot when it comes back.
const othersForMs = 10 * 60_000

export class ConcurrencyLimiter {
  readonly #max: number
  readonly #monotonicMs: () => number
  readonly #occupied = new Map<string, number>()
  #taken = 0
  #latest: string | undefined
  #othersCameAt = -Infinity

  constructor(max: number, monotonicMs: () => number = () => performance.now()) {
    this.#max = max
    this.#monotonicMs = monotonicMs
  }

  get free(): number {
    return Math.max(0, this.#max - this.#taken)
  }

  /** Returns undefined if there is no slot, or none for this owner while others send messages. */
  take(slotShareKey: string): Release | undefined {
    this.#notice(slotShareKey)
    return this.#mayTake(this.#occupied.get(slotShareKey) ?? 0) ? this.#occupy(slotShareKey) : undefined
  }

  /** Takes a slot for a claimed turn, which may exceed the limit and counts to no owner's share. */
  takeAnyway(): Release {
    this.#taken++
    return () => void this.#taken--
  }

  /** A refused message counts as well, so that the next free slot goes to its owner. */
  #notice(slotShareKey: string): void {
    if (slotShareKey === this.#latest) return
    if (this.#latest !== undefined) this.#othersCameAt = this.#monotonicMs()
    this.#latest = slotShareKey
  }

  #mayTake(occupied: number): boolean {
    if (this.free === 0 || occupied === 0) return this.free > 0
    const isAlone = this.#monotonicMs() - this.#othersCameAt > othersForMs
    // The last slot is for an owner that holds none, however few slots there are.
    return isAlone || occupied < timesFree * (this.free - 1)
  }

  #occupy(slotShareKey: string): Release {
    this.#taken++
    this.#occupied.set(slotShareKey, (this.#occupied.get(slotShareKey) ?? 0) + 1)
    return () => {
      this.#taken--
      const occupied = this.#occupied.get(slotShareKey)! - 1
      if (occupied === 0) this.#occupied.delete(slotShareKey)
      else this.#occupied.set(slotShareKey, occupied)
    }
  }
}
