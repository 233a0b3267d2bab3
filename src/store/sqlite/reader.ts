/**
 * A reader thread with a read-only connection, for look-ups, searches or reports, so that no report blocks a commit, a look-up or a stream.
 */
import { reads } from '../queries/reads.ts'
import type { Sql } from '../sql.ts'
import { createClock } from './clock.ts'
import { openForReading, sqlOf } from './database.ts'
import { toWire } from './protocol.ts'
import type { Call, WireOutcome } from './protocol.ts'
import { serveThread } from './serve-thread.ts'

serveThread(({ folder, clockOffset }) => {
  const db = openForReading(folder)
  const sql = sqlOf(db, createClock(clockOffset).now)
  return { db, answer: async ([call]) => [{ id: call!.id, outcomes: [await readInSnapshot(call!)] }], maxCalls: 1 }

  async function readInSnapshot({ operation, items }: Call): Promise<WireOutcome> {
    if (operation === 'ping') return { value: true }
    const { name, args } = items[0] as { name: keyof typeof reads; args: unknown[] }
    try {
      db.exec('begin')
      return { value: await (reads[name].run as (sql: Sql, ...rest: unknown[]) => Promise<unknown>)(sql, ...args) }
    } catch (error) {
      return { error: toWire(error) }
    } finally {
      if (db.isTransaction) db.exec('commit')
    }
  }
})
