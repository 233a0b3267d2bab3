/**
 * Who gets in when there is not room for all (`overload.places`): so many places, and no owner takes them all while others come. Counts what
 * is held and judges nothing else; who is refused has cost a look into a map. docs/decisions/0025-overload.md has the arithmetic.
 */

/** Gives the place back; called once. */
export type Release = () => void

// An owner may hold nine times what is free: alone nine tenths, two of them 47 % each, ten 9.9 % each. Something is always left for the next.
const timesFree = 9
// Longer than any turn: who took a place while he was alone has given it back. Shorter, and a quiet owner would find no room when he comes back.
const othersForMs = 10 * 60_000

export class ConcurrencyLimiter {
  readonly #max: number
  readonly #monotonicMs: () => number
  readonly #held = new Map<string, number>()
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

  /** undefined: there is none, or none for this owner while others come. */
  take(shareOf: string): Release | undefined {
    this.#notice(shareOf)
    return this.#mayTake(this.#held.get(shareOf) ?? 0) ? this.#hold(shareOf) : undefined
  }

  /** For what is not asked for but found, and may go over the limit: nobody's share. */
  takeAnyway(): Release {
    this.#taken++
    return () => void this.#taken--
  }

  /** One who asks and gets nothing counts as well: what is given back next is for him. */
  #notice(shareOf: string): void {
    if (shareOf === this.#latest) return
    if (this.#latest !== undefined) this.#othersCameAt = this.#monotonicMs()
    this.#latest = shareOf
  }

  #mayTake(held: number): boolean {
    if (this.free === 0 || held === 0) return this.free > 0
    const isAlone = this.#monotonicMs() - this.#othersCameAt > othersForMs
    // The last place is for an owner that holds none, however few places there are.
    return isAlone || held < timesFree * (this.free - 1)
  }

  #hold(shareOf: string): Release {
    this.#taken++
    this.#held.set(shareOf, (this.#held.get(shareOf) ?? 0) + 1)
    return () => {
      this.#taken--
      const held = this.#held.get(shareOf)! - 1
      if (held === 0) this.#held.delete(shareOf)
      else this.#held.set(shareOf, held)
    }
  }
}
