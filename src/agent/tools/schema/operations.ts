/**
 * Counts the operations of a check, so that its length is limited by what it does and not by how busy the machine is. An operation takes a few
 * nanoseconds: one keyword of a schema at one value, one character of a text, or one state of a pattern.
 */

/** Thrown when a check has used up its operations. */
export class OperationsSpent extends Error {}

export class Operations {
  used = 0
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Throws OperationsSpent. */
  spend(operations: number): void {
    this.used += operations
    if (this.used > this.#most) throw new OperationsSpent()
  }
}
