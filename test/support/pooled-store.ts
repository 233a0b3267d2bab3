/**
 * Stores for test apps, used by one app after another. Opening one costs more CPU than most tests need: threads and migrations on SQLite, a
 * database, connections and their plans on PostgreSQL. Between two apps its content becomes that of a new store, so an app finds nothing of an
 * earlier one: no row, no moved clock, no listener, no file; and on SQLite no byte that was deleted.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { quiet } from './own-postgres.ts'
import { withClient } from './postgres-server.ts'
import { makeStoreUnderTest, storeKind } from './store-under-test.ts'
import type { StoreKind, StoreUnderTest } from './store-under-test.ts'

export type PooledStore = {
  /** The data folder. */
  folder: string
  /** Its `close` gives the store back. From then on the folder and the database belong to the next app. */
  store: Store
  data: StoreUnderTest
}

type Member = PooledStore & {
  kind: StoreKind
  changeListeners: (() => void)[]
  messageListeners: ((message: string) => void)[]
  restore(): Promise<void>
}

const idle: Record<StoreKind, Member[]> = { sqlite: [], postgres: [] }
/** All tests of the process have ended. The hooks that close what a file shares may still run. */
let isEnding = false
/** The file of a new database, as the migrations leave it. */
let newDatabase: Promise<string> | undefined
// Long enough for the next test to start. Only a process that runs a test file without test/run.ts waits for it at its end.
const idleMs = 1_000
const heldUpMs = 2_000
let timer: NodeJS.Timeout | undefined

subscribe('turnkeep-test:process-ended', () => {
  isEnding = true
  void closeIdle()
})

/** An empty store; by default of the kind that TEST_STORE names. */
export async function takeStore(kind = storeKind): Promise<PooledStore> {
  clearTimeout(timer)
  const member = idle[kind].pop() ?? (await openMember(kind))
  let movedMs = 0
  let isClosed = false
  const pending = new Set<unknown>()
  // What an app still asks after its end must not reach the next one.
  const whileOpen = <Methods extends object>(methods: Methods): Methods =>
    new Proxy(methods, {
      get(_, name) {
        const value: unknown = Reflect.get(methods, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
          const result: unknown = value(...args)
          if (!(result instanceof Promise)) return result
          pending.add(result)
          const forget = (): void => void pending.delete(result)
          result.then(forget, forget)
          return result
        }
      },
    })
  const { read, write, writeAs, messages, ...others } = member.store
  // Copies, so that a test may replace a method in its own.
  const store: Store = {
    ...whileOpen(others),
    read: whileOpen({ ...read }),
    write: whileOpen({ ...write }),
    writeAs: (author) => whileOpen(writeAs(author)),
    messages: messages && { ...whileOpen(messages), onMessage: (listener) => void member.messageListeners.push(listener) },
    onChange: (listener) => void member.changeListeners.push(listener),
    async close() {
      if (isClosed) return
      isClosed = true
      member.changeListeners.length = 0
      member.messageListeners.length = 0
      // What was asked before the end has had its effect when the store is emptied.
      const isQuiet = await endsWithin(heldUpMs, Promise.allSettled(pending))
      if (movedMs !== 0) await member.data.moveClock(member.store, -movedMs)
      await giveBack(member, isQuiet)
    },
  }
  const data: StoreUnderTest = {
    ...member.data,
    async moveClock(_store, milliseconds) {
      movedMs += milliseconds
      await member.data.moveClock(member.store, milliseconds)
    },
  }
  return { folder: member.folder, store, data }
}

/** An empty store whose clock its test can move. */
export async function openEmptyStore(kind: StoreKind) {
  const { store, data } = await takeStore(kind)
  const moveClock = (milliseconds: number): Promise<void> => data.moveClock(store, milliseconds)
  return { store: { ...store, moveClock }, close: () => store.close() }
}

async function openMember(kind: StoreKind): Promise<Member> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  const data = await makeStoreUnderTest(folder, kind)
  const opened = kind === 'postgres' ? await openOnPostgres(data) : await openOnSqlite(folder)
  const [changeListeners, messageListeners]: [(() => void)[], ((message: string) => void)[]] = [[], []]
  opened.store.onChange(() => {
    for (const listener of changeListeners) listener()
  })
  opened.store.messages?.onMessage((message) => {
    for (const listener of messageListeners) listener(message)
  })
  const files = new Set(readdirSync(folder))
  return {
    ...opened,
    kind,
    folder,
    data,
    changeListeners,
    messageListeners,
    async restore() {
      for (const name of readdirSync(folder)) if (!files.has(name)) await rm(join(folder, name), { recursive: true })
      await opened.restore()
      await opened.store.ping()
    },
  }
}

async function openOnSqlite(folder: string): Promise<Pick<Member, 'store' | 'restore'>> {
  const store = await openSqliteStore({ folder })
  newDatabase ??= copyOf(folder)
  const source = await newDatabase
  const restore = async (): Promise<void> => {
    await copy(source, databaseFile(folder))
    // Nothing of the test remains in the write-ahead log.
    const db = new DatabaseSync(databaseFile(folder))
    db.exec('pragma wal_checkpoint(truncate)')
    db.close()
  }
  return { store, restore }
}

async function copyOf(folder: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'turnkeep-test-')), 'new.db')
  await copy(databaseFile(folder), file)
  return file
}

/** Every page in one transaction. Open connections of the target see a new schema and prepare their statements again. */
async function copy(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    await backup(source, to, { rate: 1_000_000 })
  } finally {
    source.close()
  }
}

// A test that is not about deadlines does not fail on a slow machine.
export const patientMs = 30_000
const patient = {
  admissionMs: patientMs,
  settlementMs: patientMs,
  windowMs: patientMs,
  lookUpMs: patientMs,
  searchMs: patientMs,
  writeMs: patientMs,
}

// The tables are emptied as a replica would, without the triggers that forbid it. Emptying one that has no row would cost as much. A
// transaction that commits meanwhile can leave rows in a table that had none, so the tables are read until none has any.
const emptyTables = `do $$ declare tables text; name text; has_rows boolean; begin
  set local session_replication_role = replica;
  loop
    tables := '';
    for name in select quote_ident(tablename) from pg_tables where schemaname = 'public' and tablename <> 'migrations' loop
      execute 'select exists (select from ' || name || ')' into has_rows;
      if has_rows then tables := tables || ', ' || name; end if;
    end loop;
    exit when tables = '';
    execute 'truncate ' || substr(tables, 3) || ' cascade';
  end loop;
end $$`

async function openOnPostgres({ env, emptyRedis }: StoreUnderTest): Promise<Pick<Member, 'store' | 'restore'>> {
  const url = env['DATABASE_URL']!
  const store = await openPostgresStore({ url, log: quiet, deadlines: patient })
  const restore = async (): Promise<void> => {
    // Waits for no transaction that a test has left open.
    await withClient(url, (client) => client.query(`set lock_timeout = '2s'; ${emptyTables}`))
    await emptyRedis()
  }
  return { store, restore }
}

async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timeout = setTimeout(late.resolve, milliseconds, false)
  const isInTime = await Promise.race([work.then(() => true), late.promise])
  clearTimeout(timeout)
  return isInTime
}

/** Restores the store; one that a test has damaged, or whose calls it still holds up, is closed instead. */
async function giveBack(member: Member, isQuiet: boolean): Promise<void> {
  try {
    if (!isQuiet) throw new Error('calls are held up')
    await member.restore()
  } catch {
    await closeMember(member)
    return
  }
  idle[member.kind].push(member)
  if (isEnding) await closeIdle()
  else timer = setTimeout(() => void closeIdle(), idleMs)
}

/** Each call takes what there is before it waits, so that two of them at the same time remove nothing twice. */
async function closeIdle(): Promise<void> {
  clearTimeout(timer)
  const [members, template] = [[...idle.sqlite.splice(0), ...idle.postgres.splice(0)], newDatabase]
  newDatabase = undefined
  await Promise.all(members.map(closeMember))
  if (template) await remove(join(await template, '..'))
}

/** A thread or a process that is ending may still remove its own files there. */
const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 })

async function closeMember({ folder, store, data }: Member): Promise<void> {
  await store.close()
  await data.drop()
  await remove(folder)
}
