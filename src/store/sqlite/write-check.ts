/**
 * Whether the writer can commit, for `ping`. A disk that is full still accepts transactions that write nothing, so a ping looks at the
 * failures of real writes, and writes by itself if there was none. Does not retry or repair anything.
 */
import type { DatabaseSync } from 'node:sqlite'
import { toWire } from './protocol.ts'
import type { WireOutcome } from './protocol.ts'

// Anyone may ask for /readyz, and a write waits for the disk. A disk that is full or free again is noticed within this time.
const validMs = 5_000

export class WriteCheck {
  readonly #db: Pick<DatabaseSync, 'exec' | 'isTransaction'>
  readonly #monotonicMs: () => number
  #outcome: WireOutcome = { value: true }
  #validUntil = -Infinity

  constructor(db: Pick<DatabaseSync, 'exec' | 'isTransaction'>, monotonicMs: () => number) {
    this.#db = db
    this.#monotonicMs = monotonicMs
  }

  /** Takes note of a write that failed, and returns its outcome. An error of the item itself says nothing about the others. */
  failed(thrown: unknown): WireOutcome {
    const outcome: WireOutcome = { error: toWire(thrown) }
    if (outcome.error.kind === 'unavailable') this.#note(outcome)
    return outcome
  }

  /** Call between transactions. */
  ping(): WireOutcome {
    if (this.#monotonicMs() >= this.#validUntil) this.#write()
    return this.#outcome
  }

  #write(): void {
    try {
      this.#db.exec('begin immediate')
      // Nothing reads this number. Setting it writes the first page, whatever its value is.
      this.#db.exec('pragma user_version = 0')
      this.#db.exec('commit')
      this.#note({ value: true })
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      this.#note({ error: toWire(error) })
    }
  }

  #note(outcome: WireOutcome): void {
    this.#outcome = outcome
    this.#validUntil = this.#monotonicMs() + validMs
  }
}
