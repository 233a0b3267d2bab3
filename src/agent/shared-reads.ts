/**
 * Shares one read between all callers that ask for the same key while it is running: if a thousand turns of one agent start together, the
 * store is read once. Results are not cached after the read has finished.
 */
export class SharedReads<Value> {
  readonly #underWay = new Map<string, Promise<Value>>()

  /** Joins the running read for `key`, or starts one with `begin`. If `begin` rejects, every caller that joined gets the rejection. */
  read(key: string, begin: () => Promise<Value>): Promise<Value> {
    const known = this.#underWay.get(key)
    if (known) return known
    const reading = begin().finally(() => {
      if (this.#underWay.get(key) === reading) this.#underWay.delete(key)
    })
    this.#underWay.set(key, reading)
    return reading
  }

  /** Detaches the running reads, so that a caller who asks after a change never joins a read that started before it. */
  forget(): void {
    this.#underWay.clear()
  }
}
