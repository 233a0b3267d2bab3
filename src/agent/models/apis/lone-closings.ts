/**
 * Remembers which models close a block of reasoning that nothing opened, so that the text of their next answers is held until the block is
 * closed. Memory of one process: the first such answer after a start is taken back instead.
 */

// A model whose last answers had no such block is not held any more, because an answer may also contain the mark because its user asked for it.
const heldFor = 8
// Base URLs and names of models that operators configured.
const maxModels = 1000

export class LoneClosings {
  readonly #left = new Map<string, number>()

  has(model: string): boolean {
    return this.#left.has(model)
  }

  /** `closedAlone`: whether its last answer had such a block. */
  note(model: string, closedAlone: boolean): void {
    const left = closedAlone ? heldFor : (this.#left.get(model) ?? 0) - 1
    if (left > 0 && (this.#left.has(model) || this.#left.size < maxModels)) this.#left.set(model, left)
    else if (this.#left.size > 0) this.#left.delete(model)
  }
}
