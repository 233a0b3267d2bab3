/**
 * The writer thread: the one connection that writes. Whatever waits is taken together into one transaction and one flush of the disk, with a
 * savepoint per item, so that items succeed or fail one by one; nothing is answered before the commit is durable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { createFailpoints } from '../../failpoints.ts'
import type { Failpoints, FailpointName } from '../../failpoints.ts'
import { performWrite } from '../cold/audit.ts'
import type { Author } from '../cold/audit.ts'
import type { Writes } from '../cold/writes.ts'
import type { Sql } from '../store.ts'
import { createClock } from './clock.ts'
import { openForWriting, sqlOf } from './database.ts'
import { createHot } from './hot.ts'
import type { Hot } from './hot.ts'
import { forget } from './forget.ts'
import { migrate, readMigrations } from './migrate.ts'
import { toWire } from './protocol.ts'
import type { Answer, Call, WireOutcome } from './protocol.ts'
import { serveThread } from './serve-thread.ts'

// The most calls of one group: a group's commit delays everyone in it, and 64 items a lane is what the lanes send (house, Batching).
const mostCallsInGroup = 128

/** A failpoint may stand before and after the commit of these operations. */
const commitPoints: Record<string, [FailpointName, FailpointName]> = {
  admit: ['admit.before-commit', 'admit.after-commit'],
  settle: ['settle.before-commit', 'settle.after-commit'],
  fail: ['fail.before-commit', 'fail.after-commit'],
  advance: ['advance.before-commit', 'advance.after-commit'],
  claim: ['claim.before-commit', 'claim.after-commit'],
}

type Item = { operation: string; argument: unknown; keep(outcome: WireOutcome): void }

class Writer {
  readonly #db: DatabaseSync
  readonly #hot: Hot
  readonly #sql: Sql
  readonly #failpoints: Failpoints

  constructor(db: DatabaseSync, hot: Hot, sql: Sql, failpoints: Failpoints) {
    this.#db = db
    this.#hot = hot
    this.#sql = sql
    this.#failpoints = failpoints
  }

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
      for (const item of items) {
        item.keep(await this.#inSavepoint(item))
        if (!this.#db.isTransaction) return false
      }
      this.#commit(items)
      return true
    } catch {
      // Told by each item's own attempt, which meets the same failure alone.
      if (this.#db.isTransaction) this.#db.exec('rollback')
      return false
    }
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
      this.#commit([item])
      item.keep({ value })
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      item.keep({ error: toWire(error) })
    }
  }

  #commit(items: Item[]): void {
    if (!this.#failpoints.spec) return this.#db.exec('commit')
    const points = new Set(items.map((item) => commitPoints[item.operation]).filter((pair) => pair !== undefined))
    for (const [before] of points) this.#failpoints.hit(before)
    this.#db.exec('commit')
    for (const [, after] of points) this.#failpoints.hit(after)
  }

  #forget(depth: unknown): WireOutcome {
    try {
      return { value: forget(this.#db, depth === 'file' ? 'file' : 'log') }
    } catch (error) {
      return { error: toWire(error) }
    }
  }

  #operate({ operation, argument }: Item): unknown {
    if (operation === 'write') {
      return performWrite(this.#sql, argument as { name: keyof Writes; args: never; author: Author | undefined })
    }
    return (this.#hot[operation as keyof Hot] as (item: unknown) => unknown)(argument)
  }
}

serveThread(({ folder, failpoints, clockOffset }) => {
  const db = openForWriting(folder)
  migrate(db, readMigrations(), folder)
  const clock = createClock(clockOffset)
  const hot = createHot(db, clock)
  hot.endAllLeases()
  const writer = new Writer(db, hot, sqlOf(db, clock.now), createFailpoints(failpoints))
  return { db, answer: (calls) => writer.answer(calls), mostCalls: mostCallsInGroup }
})
