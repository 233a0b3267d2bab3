/** Counts what a reader leaves out of a document. The process that reads may only load code of this module: the kinds are types here. */
import type { DocumentWarning, WarningKind } from '../../document-warnings.ts'

export class Warnings {
  readonly #counts = new Map<WarningKind, number | null>()

  add(kind: WarningKind, count = 1): void {
    if (count > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count)
  }

  note(kind: WarningKind): void {
    this.#counts.set(kind, null)
  }

  list(): DocumentWarning[] {
    return [...this.#counts].map(([kind, count]) => ({ kind, count }))
  }
}
