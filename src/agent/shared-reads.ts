/**
 * One read for all who ask for the same thing while it is under way: a thousand turns of one agent that begin at once ask the store once and
 * not a thousand times. Keeps nothing once it is answered.
 */
export class SharedReads<Value> {
  readonly #underWay = new Map<string, Promise<Value>>()

  /** Rejects for all of them as `begin` does. */
  read(key: string, begin: () => Promise<Value>): Promise<Value> {
    const known = this.#underWay.get(key)
    if (known) return known
    const reading = begin().finally(() => {
      if (this.#underWay.get(key) === reading) this.#underWay.delete(key)
    })
    this.#underWay.set(key, reading)
    return reading
  }

  /** What was asked before a change is not for those who ask after it. */
  forget(): void {
    this.#underWay.clear()
  }
}
