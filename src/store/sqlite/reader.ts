/** The reader thread: a read-only connection for listings, look-ups, search and verify, so that no report ever blocks a commit or a stream. */
import { parentPort, workerData } from 'node:worker_threads'
import { reads } from '../cold/reads.ts'
import type { Sql } from '../store.ts'
import { createClock } from './clock.ts'
import { openForReading, sqlOf } from './database.ts'
import { toWire } from './protocol.ts'
import type { Answer, Call, Opened, ThreadData } from './protocol.ts'

function serve(): void {
  const port = parentPort!
  const { folder, clockOffset } = workerData as ThreadData
  try {
    const db = openForReading(folder)
    const sql = sqlOf(db, createClock(clockOffset).now)
    port.on('message', async ({ id, operation, items }: Call) => {
      if (operation === 'close') {
        db.close()
        port.close()
        return
      }
      if (operation === 'ping') return port.postMessage({ id, outcomes: [{ value: true }] } satisfies Answer)
      const { name, args } = items[0] as { name: keyof typeof reads; args: unknown[] }
      port.postMessage({ id, outcomes: [await readInSnapshot(name, args)] } satisfies Answer)
    })
    port.postMessage({ opened: true } satisfies Opened)

    async function readInSnapshot(name: keyof typeof reads, args: unknown[]): Promise<Answer['outcomes'][number]> {
      try {
        db.exec('begin')
        return { value: await (reads[name] as (sql: Sql, ...rest: unknown[]) => Promise<unknown>)(sql, ...args) }
      } catch (error) {
        return { error: toWire(error) }
      } finally {
        if (db.isTransaction) db.exec('commit')
      }
    }
  } catch (error) {
    const wire = toWire(error)
    port.postMessage({
      opened: false,
      refusal: wire.kind === 'unavailable' ? 'unavailable' : 'fault',
      message: wire.message,
    } satisfies Opened)
  }
}

serve()
