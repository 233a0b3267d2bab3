/**
 * `overload.bodies`, `overload.unread`: counts bytes of memory by the one for whom they are held, with a limit for each and one for all. Who
 * holds nothing gets what it asks for, so that no other can shut it out.
 */
export class ByteBudget {
  readonly #maxOfOne: number
  readonly #maxOfAll: number
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(maxOfOne: number, maxOfAll: number) {
    this.#maxOfOne = maxOfOne
    this.#maxOfAll = maxOfAll
  }

  /** Whether `who` may hold `more` bytes. `same` bytes are of the thing that grows: it may do so if it is the only one of `who`. */
  allows(who: string, more: number, same = 0): boolean {
    const held = this.#held.get(who) ?? 0
    return held === same || (held + more <= this.#maxOfOne && this.#total + more <= this.#maxOfAll)
  }

  /** Counts `bytes` more, whether or not they are allowed. A negative number gives them back. */
  add(who: string, bytes: number): void {
    const held = (this.#held.get(who) ?? 0) + bytes
    this.#total += bytes
    if (held === 0) this.#held.delete(who)
    else this.#held.set(who, held)
  }
}
