/**
 * Collects a body that arrives in pieces into one buffer. A list of the pieces would need a hundred bytes for each of them, and a server can
 * send a body in pieces of one byte.
 */

// Enough for most bodies; it doubles up to the size of the body.
const firstBytes = 16 * 1024

export class CollectedBytes {
  #buffer = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The caller limits the size. */
  push(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2, firstBytes))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = needed
  }

  text(): string {
    return this.#buffer.toString('utf8', 0, this.#length)
  }
}
