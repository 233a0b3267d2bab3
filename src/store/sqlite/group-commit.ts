/**
 * Commits groups: all waiting items share one transaction and one flush of the disk, but succeed or fail individually. A group above the
 * budget of a transaction (budget.ts) takes several. No outcome is returned before the commit is durable; those of admissions are reported
 * before it, too (`turn.durable-first`). Does not know about threads.
 *
 * The fast path has no savepoints. A savepoint copies every page that its item writes and needs two more statements, a quarter of the cost
 * of a turn. Operations of the turn path return refusals and throw only on errors, so after the first error the group is rolled back and
 * written again with a savepoint per item. Other writes throw to refuse, so they always have a savepoint.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Failpoints, FailpointName } from '../../failpoints.ts'
import { bytesOf, withinBudget } from '../budget.ts'
import { performWrite } from '../queries/perform-write.ts'
import type { WriteCall } from '../queries/perform-write.ts'
import { writes } from '../queries/writes.ts'
import type { Sql } from '../sql.ts'
import type { TurnPath } from './turn-path.ts'
import { forget } from './forget.ts'
import { toWire } from './protocol.ts'
import type { Answer, Call, EarlyAnswer, WireOutcome } from './protocol.ts'
import { earlyAnswers } from './early-answers.ts'
import type { Item } from './early-answers.ts'
import { WriteCheck } from './write-check.ts'

/** The failpoints before and after the commit of these operations. */
const commitPoints: Record<string, [FailpointName, FailpointName]> = {
  admit: ['admit.before-commit', 'admit.after-commit'],
  settle: ['settle.before-commit', 'settle.after-commit'],
  fail: ['fail.before-commit', 'fail.after-commit'],
  advance: ['advance.before-commit', 'advance.after-commit'],
  claim: ['claim.before-commit', 'claim.after-commit'],
  release: ['give-up.before-commit', 'give-up.after-commit'],
}

const betweenTransactions = new Set(['forget', 'ping'])

type OnEarlyAnswers = (answers: EarlyAnswer[]) => void

/** The part of a connection that is needed here. */
export type Writable = Pick<DatabaseSync, 'exec' | 'prepare' | 'isTransaction'>

export class Writer {
  readonly #db: Writable
  readonly #turnPath: TurnPath
  readonly #sql: Sql
  readonly #failpoints: Failpoints
  readonly #check: WriteCheck

  constructor(db: Writable, turnPath: TurnPath, sql: Sql, failpoints: Failpoints, monotonicMs = (): number => performance.now()) {
    this.#db = db
    this.#turnPath = turnPath
    this.#sql = sql
    this.#failpoints = failpoints
    this.#check = new WriteCheck(db, monotonicMs)
  }

  /**
   * Returns one outcome per item of each call. Never rejects, and awaits only settled promises. `onEarly`: called before a commit. Of what
   * it receives, an outcome holds if the same object is in the answer.
   */
  async answer(calls: Call[], onEarly: OnEarlyAnswers = () => {}): Promise<Answer[]> {
    const answers = calls.map(({ id, items }): Answer => ({ id, outcomes: Array.from({ length: items.length }) }))
    const items = calls.flatMap((call, callIndex) =>
      (betweenTransactions.has(call.operation) ? [] : call.items).map((argument, index): Item => {
        return { operation: call.operation, argument, answer: answers[callIndex]!, index }
      }),
    )
    for (const part of items.length > 0 ? withinBudget(items, sizeOf) : []) {
      // If a transaction fails as a whole (disk full at the commit), the items are tried one by one, so that one bad row does not affect
      // the others.
      if (await this.#commitTogether(part, onEarly)) continue
      for (const item of part) await this.#commitAlone(item)
    }
    // Between transactions, because within one the log cannot be checkpointed.
    for (const [index, { operation, items: depths }] of calls.entries()) {
      if (operation === 'forget') answers[index]!.outcomes = [this.#forget(depths[0])]
      if (operation === 'ping') answers[index]!.outcomes = [this.#check.ping()]
    }
    return answers
  }

  async #commitTogether(items: Item[], onEarly: OnEarlyAnswers): Promise<boolean> {
    try {
      this.#db.exec('begin immediate')
      const early = (await this.#writeAll(items)) ? earlyAnswers(items) : undefined
      if (!early) {
        if (this.#db.isTransaction) this.#db.exec('rollback')
        this.#db.exec('begin immediate')
        for (const item of items) {
          keep(item, await this.#inSavepoint(item))
          if (!this.#db.isTransaction) return false
        }
      }
      this.#commit(items, early?.length ? () => onEarly(early) : undefined)
      return true
    } catch {
      // Not reported here: each item is tried alone and reports the same failure.
      if (this.#db.isTransaction) this.#db.exec('rollback')
      return false
    }
  }

  /** Returns false if an operation of the turn path throws: the transaction then contains half an item. */
  async #writeAll(items: Item[]): Promise<boolean> {
    for (const item of items) {
      if (item.operation === 'write') {
        keep(item, await this.#inSavepoint(item))
        if (!this.#db.isTransaction) return false
        continue
      }
      try {
        keep(item, { value: this.#operate(item) })
      } catch {
        // Not reported here: the item is tried in a savepoint and reports the same failure.
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
      return this.#check.failed(error)
    }
  }

  async #commitAlone(item: Item): Promise<void> {
    try {
      this.#db.exec('begin immediate')
      const value = await this.#operate(item)
      keep(item, { value })
      this.#commit([item])
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      keep(item, this.#check.failed(error))
    }
  }

  #commit(items: Item[], reportEarly?: () => void): void {
    if (!this.#failpoints.spec) {
      reportEarly?.()
      return this.#db.exec('commit')
    }
    const around = new Map(items.map((item) => [keyOf(item), pointsAround(item)]))
    for (const [key, points] of around) if (points) this.#failpoints.hit(points[0], key)
    if (reportEarly) {
      reportEarly()
      this.#failpoints.hit('admit.early', 'admit')
    }
    this.#db.exec('commit')
    for (const [key, points] of around) if (points) this.#hitAfter(points[1], key, items)
  }

  /** A durable commit is not repeated: a failpoint that throws here discards the outcome, as a failure after a commit would. */
  #hitAfter(point: FailpointName, key: string, items: Item[]): void {
    try {
      this.#failpoints.hit(point, key)
    } catch (error) {
      for (const item of items) if (keyOf(item) === key) keep(item, { error: toWire(error) })
    }
  }

  #forget(depth: unknown): WireOutcome {
    try {
      return { value: forget(this.#db, depth === 'vacuum' ? 'vacuum' : 'wal') }
    } catch (error) {
      return { error: toWire(error) }
    }
  }

  #operate({ operation, argument }: Item): unknown {
    if (operation === 'write') return performWrite(this.#sql, argument as WriteCall)
    return (this.#turnPath[operation as keyof TurnPath] as (item: unknown) => unknown)(argument)
  }
}

const keep = ({ answer, index }: Item, outcome: WireOutcome): void => void (answer.outcomes[index] = outcome)

/** The bytes that an item writes. Writes outside the turn path are bounded where they are accepted, and count nothing. */
const sizeOf = ({ operation, argument }: Item): number =>
  operation in bytesOf ? (bytesOf[operation as keyof typeof bytesOf] as (item: unknown) => number)(argument) : 0

/** The name of what is committed: an operation of the turn path, or a write. */
const keyOf = ({ operation, argument }: Item): string => (operation === 'write' ? (argument as WriteCall).name : operation)

const pointsAround = ({ operation, argument }: Item): [FailpointName, FailpointName] | undefined =>
  operation === 'write' ? writes[(argument as WriteCall).name].failpoints : commitPoints[operation]
