/**
 * The embedded store: one SQLite file per data folder, used by one process with a writer thread, a reader thread, and one thread each for
 * searches and reports. Implements store.ts; its clock is the writer's. Durability: WAL with synchronous=full, so a commit is on the disk
 * before its outcome is returned.
 */
import { reads } from '../queries/reads.ts'
import type { Reads } from '../queries/reads.ts'
import type { Author } from '../queries/audit.ts'
import { writes } from '../queries/writes.ts'
import type { Writes } from '../queries/writes.ts'
import { boundMethods, methodsOf } from '../methods.ts'
import type { Methods } from '../methods.ts'
import type { Sql } from '../sql.ts'
import type { Each, Store } from '../store.ts'
import type { Admitted, Claims } from '../turn-records.ts'
import { openForReading, sqlOf } from './database.ts'
import { createLateThread } from './late-thread.ts'
import type { LateThread } from './late-thread.ts'
import { lockFolder } from './lock.ts'
import { fromWire } from './protocol.ts'
import type { WireOutcome } from './protocol.ts'
import { StoreThread } from './store-thread.ts'
import type { OnEarlyOutcome } from './store-thread.ts'

export { backUp } from './backup.ts'
export { inspectFolder } from './inspect.ts'
export type { Inspection } from './inspect.ts'
export { FolderInUse } from './lock.ts'

export type SqliteOptions = {
  /** The data folder. It must exist. */
  folder: string
  /** A failpoints.ts specification for the writer thread; empty for none. */
  failpoints?: string
}

export type SqliteStore = Store & {
  /** Moves the store's clock forward, for tests: expiry and leases follow immediately. */
  moveClock(milliseconds: number): void
}

/**
 * Throws FolderInUse, SchemaRefused, StoreUnavailable. When it resolves, every turn that a previous process left running can be claimed.
 */
export async function openSqliteStore({ folder, failpoints = '' }: SqliteOptions): Promise<SqliteStore> {
  const lock = lockFolder(folder)
  const clockOffset = new SharedArrayBuffer(8)
  const data = { folder, failpoints, clockOffset }
  // Both threads start at the same time. The reader opens what the writer has migrated.
  const writer = new StoreThread(new URL('./writer.ts', import.meta.url), data)
  const startReader = (): StoreThread => new StoreThread(new URL('./reader.ts', import.meta.url), data)
  const reader = startReader()
  try {
    await writer.open()
    await reader.open()
    const [searcher, reporter] = [createLateThread(startReader), createLateThread(startReader)]
    return storeOver({ writer, reader, searcher, reporter, lock, clockOffset: new Float64Array(clockOffset) })
  } catch (error) {
    await Promise.all([writer.close(), reader.close()])
    lock.close()
    throw error
  }
}

// What still waits then are reports whose callers have left.
const closeMs = 5_000

type Parts = {
  writer: Pick<StoreThread, 'call' | 'ask' | 'close'>
  reader: LateThread
  searcher: LateThread
  reporter: LateThread
  lock: { close(): void }
  clockOffset: Float64Array
}

/** The store on top of its threads, or of their replacements in a simulation. */
export function storeOver({ writer, reader, searcher, reporter, lock, clockOffset }: Parts): SqliteStore {
  const threads = { key: reader, 'look-up': reader, search: searcher, report: reporter }
  const listeners: (() => void)[] = []
  const each = async <Outcome>(operation: string, items: unknown[], onEarly?: OnEarlyOutcome): Promise<Each<Outcome>[]> => {
    const outcomes = await writer.call(operation, items, onEarly)
    return outcomes.map((outcome: WireOutcome): Each<Outcome> =>
      'error' in outcome ? { kind: 'error', error: fromWire(outcome.error) } : (outcome.value as Outcome),
    )
  }
  async function write(author: Author | undefined, name: keyof Writes, args: unknown[]): Promise<unknown> {
    const value = await writer.ask('write', { name, args, author })
    if (writes[name].changesCaches) for (const listener of listeners) listener()
    return value
  }
  return {
    admitMany: (items, onEarly) =>
      each('admit', items, onEarly && ((index, outcome) => onEarly(index, (outcome as { value: Admitted }).value))),
    settleMany: (items) => each('settle', items),
    failMany: (items) => each('fail', items),
    advanceMany: (items) => each('advance', items),
    async renewLeases(leases, leaseMs) {
      const outcomes = await writer.call(
        'renew',
        leases.map((lease) => ({ ...lease, leaseMs })),
      )
      return leases.filter((_, index) => {
        const outcome = outcomes[index]!
        if ('error' in outcome) throw fromWire(outcome.error)
        return outcome.value === false
      })
    },
    async releaseLeases(leases) {
      for (const outcome of await writer.call('release', leases)) if ('error' in outcome) throw fromWire(outcome.error)
    },
    claimOrphans: (claim) => writer.ask('claim', claim) as Promise<Claims>,
    read: methodsOf<Reads>(reads, (name, args) => threads[reads[name].queue].ask('read', { name, args })),
    write: methodsOf<Writes>(writes, (name, args) => write(undefined, name, args)),
    writeAs: boundMethods<Author, Methods<Writes>>(writes, write),
    forget: (depth) => writer.ask('forget', depth) as ReturnType<Store['forget']>,
    onChange: (listener) => void listeners.push(listener),
    messages: undefined,
    processes: undefined,
    async ping() {
      await Promise.all([writer.ask('ping', null), reader.ask('ping', null)])
    },
    async close() {
      await Promise.all([reader, searcher, reporter].map((thread) => thread.close(closeMs)))
      await writer.close()
      lock.close()
    },
    moveClock: (milliseconds) => void (clockOffset[0]! += milliseconds),
  }
}

/** Reads one snapshot of the database in `folder`, even while a server runs. Throws StoreUnavailable if there is no database. */
export async function readSnapshot<Result>(folder: string, read: (sql: Sql) => Promise<Result>): Promise<Result> {
  const db = openForReading(folder)
  try {
    db.exec('begin')
    return await read(sqlOf(db, Date.now))
  } finally {
    db.close()
  }
}
