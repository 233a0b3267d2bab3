/**
 * The commit of a group: whatever waits is taken together into one transaction and one flush of the disk, and yet items succeed or fail one by
 * one; nothing is answered before the commit is durable. Knows no thread.
 *
 * The fast path is a group without savepoints. A savepoint copies every page that its item writes and is two more statements, a quarter of a
 * turn's cost; and a hot operation that throws is a fault, since what it refuses it answers. So the first that throws takes the group back, and
 * it is written anew with a savepoint an item. A cold write, which throws to refuse, has one in any case.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Failpoints, FailpointName } from '../../failpoints.ts'
import { performWrite, writes } from '../queries/writes.ts'
import type { WriteCall } from '../queries/writes.ts'
import type { Sql } from '../sql.ts'
import type { TurnPath } from './turn-path.ts'
import { forget } from './forget.ts'
import { toWire } from './protocol.ts'
import type { Answer, Call, WireOutcome } from './protocol.ts'

/** A failpoint may stand before and after the commit of these operations. */
const commitPoints: Record<string, [FailpointName, FailpointName]> = {
  admit: ['admit.before-commit', 'admit.after-commit'],
  settle: ['settle.before-commit', 'settle.after-commit'],
  fail: ['fail.before-commit', 'fail.after-commit'],
  advance: ['advance.before-commit', 'advance.after-commit'],
  claim: ['claim.before-commit', 'claim.after-commit'],
  release: ['give-up.before-commit', 'give-up.after-commit'],
}

type Item = { operation: string; argument: unknown; keep(outcome: WireOutcome): void }

/** What it needs of the connection. */
export type Writable = Pick<DatabaseSync, 'exec' | 'prepare' | 'isTransaction'>

export class Writer {
  readonly #db: Writable
  readonly #hot: TurnPath
  readonly #sql: Sql
  readonly #failpoints: Failpoints

  constructor(db: Writable, hot: TurnPath, sql: Sql, failpoints: Failpoints) {
    this.#db = db
    this.#hot = hot
    this.#sql = sql
    this.#failpoints = failpoints
  }

  /** One outcome for each item of each call. Never rejects, and awaits nothing but settled promises. */
  async answer(calls: Call[]): Promise<Answer[]> {
    const answers = calls.map(({ id, items }): Answer => ({ id, outcomes: Array.from({ length: items.length }) }))
    const items = calls.flatMap((call, callIndex) =>
      (call.operation === 'forget' ? [] : call.items).map((argument, index): Item => {
        const { outcomes } = answers[callIndex]!
        return { operation: call.operation, argument, keep: (outcome) => (outcomes[index] = outcome) }
      }),
    )
    // A transaction that failed as a whole (a full disk at the commit) is tried again item by item: one bad row never takes others with it.
    if (items.length > 0 && !(await this.#commitTogether(items))) {
      for (const item of items) await this.#commitAlone(item)
    }
    // Between transactions: within one, the log cannot be folded back.
    for (const [index, { operation, items: depths }] of calls.entries()) {
      if (operation === 'forget') answers[index]!.outcomes = [this.#forget(depths[0])]
    }
    return answers
  }

  async #commitTogether(items: Item[]): Promise<boolean> {
    try {
      this.#db.exec('begin immediate')
      if (!(await this.#writeAll(items))) {
        if (this.#db.isTransaction) this.#db.exec('rollback')
        this.#db.exec('begin immediate')
        for (const item of items) {
          item.keep(await this.#inSavepoint(item))
          if (!this.#db.isTransaction) return false
        }
      }
      this.#commit(items)
      return true
    } catch {
      // Told by each item's own attempt, which meets the same failure alone.
      if (this.#db.isTransaction) this.#db.exec('rollback')
      return false
    }
  }

  /** Answers false where a hot operation throws: what stands in the transaction then is half of an item. */
  async #writeAll(items: Item[]): Promise<boolean> {
    for (const item of items) {
      if (item.operation === 'write') {
        item.keep(await this.#inSavepoint(item))
        if (!this.#db.isTransaction) return false
        continue
      }
      try {
        item.keep({ value: this.#operate(item) })
      } catch {
        // Told by the item's attempt in a savepoint, which meets the same failure.
        return false
      }
    }
    return true
  }

  async #inSavepoint(item: Item): Promise<WireOutcome> {
    this.#db.exec('savepoint item')
    try {
      const value = await this.#operate(item)
      this.#db.exec('release item')
      return { value }
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback to item; release item')
      return { error: toWire(error) }
    }
  }

  async #commitAlone(item: Item): Promise<void> {
    try {
      this.#db.exec('begin immediate')
      const value = await this.#operate(item)
      item.keep({ value })
      this.#commit([item])
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      item.keep({ error: toWire(error) })
    }
  }

  #commit(items: Item[]): void {
    if (!this.#failpoints.spec) return this.#db.exec('commit')
    const around = new Map(items.map((item) => [keyOf(item), pointsAround(item)]))
    for (const [key, points] of around) if (points) this.#failpoints.hit(points[0], key)
    this.#db.exec('commit')
    for (const [key, points] of around) if (points) this.#hitAfter(points[1], key, items)
  }

  /** What is durable is not done again: a point that throws here takes away the answer, as a fault after a commit would. */
  #hitAfter(point: FailpointName, key: string, items: Item[]): void {
    try {
      this.#failpoints.hit(point, key)
    } catch (error) {
      for (const item of items) if (keyOf(item) === key) item.keep({ error: toWire(error) })
    }
  }

  #forget(depth: unknown): WireOutcome {
    try {
      return { value: forget(this.#db, depth === 'file' ? 'file' : 'log') }
    } catch (error) {
      return { error: toWire(error) }
    }
  }

  #operate({ operation, argument }: Item): unknown {
    if (operation === 'write') return performWrite(this.#sql, argument as WriteCall)
    return (this.#hot[operation as keyof TurnPath] as (item: unknown) => unknown)(argument)
  }
}

/** What is committed: a hot operation, or a cold write by its name. */
const keyOf = ({ operation, argument }: Item): string => (operation === 'write' ? (argument as WriteCall).name : operation)

const pointsAround = ({ operation, argument }: Item): [FailpointName, FailpointName] | undefined =>
  operation === 'write' ? writes[(argument as WriteCall).name].failpoints : commitPoints[operation]
