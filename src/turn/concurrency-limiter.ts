/**
 * Decides which messages may start a turn if there are not enough slots for all (`overload.places`). No owner can take all slots, also
 * while no other one sends messages. A refusal costs one map lookup. docs/decisions/0025-overload.md explains the arithmetic.
 */

/** Returns the slot. Call it once. */
export type Release = () => void

// An owner may hold nine times the number of free slots: 90 % for a single owner, 47 % each for two, 9.9 % each for ten. So some slots are
// always left for the next owner.
const timesFree = 9

export class ConcurrencyLimiter {
  readonly #max: number
  readonly #occupied = new Map<string, number>()
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  get free(): number {
    return Math.max(0, this.#max - this.#taken)
  }

  /** Returns undefined if there is no slot, or none for this owner. */
  take(slotShareKey: string): Release | undefined {
    return this.#mayTake(this.#occupied.get(slotShareKey) ?? 0) ? this.#occupy(slotShareKey) : undefined
  }

  /** Takes a slot for a claimed turn, which may exceed the limit and counts to no owner's share. */
  takeAnyway(): Release {
    this.#taken++
    return () => void this.#taken--
  }

  #mayTake(occupied: number): boolean {
    if (occupied === 0) return this.free > 0
    // The last slot is for an owner that holds none, however few slots there are.
    return occupied < timesFree * (this.free - 1)
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
