/**
 * The target of a copy: a PostgreSQL database. Its progress is in `copy_progress`, committed together with the rows, so that a killed copy
 * continues where it stopped. Never changes a database that contains other data or that a server uses.
 */
import pg from 'pg'
import type { Row } from '../../sql.ts'
import { clientOptions } from '../connections.ts'
import type { Connection } from '../connections.ts'
import { CopyRefused } from './source.ts'
import { countAllWords, termsColumn } from './words.ts'
import { keyText, postgresTypes } from './tables.ts'
import type { Digest, Table } from './tables.ts'
import { asStoreError } from '../failure.ts'
import { migrate, readMigrations } from '../migrate.ts'
import { inspectPostgres } from '../postgres.ts'

export type TableProgress = {
  rows: number
  sha256: string
  copied: number
  /** The key of the newest copied row (`keyText`). */
  lastKey: string | null
}
/** By table. Undefined if no copy was started. */
export type Progress = { tables: Map<string, TableProgress>; finishedAt: number | null } | undefined

export type CopyTarget = {
  progress(): Promise<Progress>
  progressOf(table: Table): Promise<TableProgress>
  /** Stores what is to be copied. From now on no server starts here until the copy is finished. Throws CopyRefused if there is data. */
  begin(source: Map<string, Digest>): Promise<void>
  /** Throws CopyRefused while a server uses the database: one that started before the copy. */
  refuseServers(): Promise<void>
  /** One commit. Returns false, without writing, if another copy has continued from `after` meanwhile. */
  insert(table: Table, rows: Row[], move: { after: string | null; to: string }): Promise<boolean>
  /** Call it after the last row. Adds what a server needs besides rows. */
  settle(): Promise<void>
  finish(): Promise<void>
  close(): Promise<void>
}

// One lock for all copies into this database. The number has no meaning.
const lockKey = 'select pg_try_advisory_lock(7264012) as locked'
// Needed once, and the server may be on another continent.
const connectMs = 10_000
// A copy that was just killed holds the lock until PostgreSQL notices.
const lockTries = 30
const lockPauseMs = 100

/** Creates the schema. Throws CopyRefused, SchemaRefused, StoreUnavailable. Two copies at the same time exclude each other. */
export async function openCopyTarget(url: string, tables: Table[]): Promise<CopyTarget> {
  const { pooled } = await inspectPostgres(url)
  // The lock belongs to the connection, which also sees which other connections exist.
  if (pooled) throw new CopyRefused('a pooler stands before the database: name PostgreSQL itself in --to')
  const lost = new AbortController()
  const clients: pg.Client[] = []
  try {
    for (const connect of [takeLock, bringSchema]) {
      const client = new pg.Client({ ...clientOptions(url), connectionTimeoutMillis: connectMs, application_name: 'turnkeep copy' })
      client.on('error', (error) => lost.abort(error))
      clients.push(client)
      await client.connect()
      await connect(client)
    }
    return createTarget(clients, tables, lost.signal)
  } catch (error) {
    await Promise.all(clients.map((client) => client.end()))
    throw asStoreError(error)
  }
}

async function bringSchema(client: pg.Client): Promise<void> {
  await client.query('set statement_timeout = 0; set lock_timeout = 0')
  const newer = await migrate(client as unknown as Connection, readMigrations())
  if (newer.length > 0) throw new CopyRefused(`the database was migrated by a newer Turnkeep (${newer[0]}); copy with that version`)
}

/** Held by the connection. If this machine disappears, the server notices within a minute. */
async function takeLock(client: pg.Client): Promise<void> {
  await client.query(`set idle_session_timeout = 0; set tcp_keepalives_idle = 20; set tcp_keepalives_interval = 5;
    set tcp_keepalives_count = 3`)
  for (let left = lockTries; left > 0; left--) {
    if ((await client.query(lockKey)).rows[0].locked === 1n) return
    await new Promise((resolve) => setTimeout(resolve, lockPauseMs))
  }
  throw new CopyRefused('another copy into this database is running')
}

function createTarget(clients: pg.Client[], tables: Table[], lost: AbortSignal): CopyTarget {
  const client = clients.at(-1)!

  async function query(text: string, values: unknown[] = []): Promise<pg.QueryResult> {
    // Without the lock, another copy may be running.
    if (lost.aborted) throw asStoreError(lost.reason)
    try {
      return await client.query(text, values)
    } catch (error) {
      throw asStoreError(error)
    }
  }

  async function progress(): Promise<Progress> {
    const [present] = (await query(`select to_regclass('copy_progress') is not null as present`)).rows
    if (present.present !== 1n) return undefined
    const { rows } = await query('select table_name, rows, sha256, copied, last_key, finished_at from copy_progress')
    if (rows.length === 0) return undefined
    const read = rows.map((row): [string, TableProgress] => [
      row.table_name,
      { rows: Number(row.rows), sha256: row.sha256, copied: Number(row.copied), lastKey: row.last_key },
    ])
    const unfinished = rows.some((row) => row.finished_at === null)
    return { tables: new Map(read), finishedAt: unfinished ? null : Number(rows[0].finished_at) }
  }

  async function refuseServers(): Promise<void> {
    const others = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'turnkeep' limit 1`
    // The connections of a server stay; those of a command that has just ended disappear soon.
    for (let left = lockTries; (await query(others)).rows.length > 0; left--) {
      if (left === 0)
        throw new CopyRefused(
          'a Turnkeep server works with this database, or a pooler keeps its connections: stop it, or copy into another one',
        )
      await new Promise((resolve) => setTimeout(resolve, lockPauseMs))
    }
  }

  return {
    progress,
    refuseServers,
    async progressOf({ name }) {
      const found = (await progress())?.tables.get(name)
      if (!found) throw new Error(`the copy of ${name} was never started`)
      return found
    },
    async begin(source) {
      const filled = tables.map(({ name }) => `select '${name}' as name where exists (select from ${name})`).join(' union all ')
      const { rows } = await query(filled)
      if (rows.length > 0) {
        const names = rows.map(({ name }) => String(name)).join(', ')
        throw new CopyRefused(
          `the database has data already, which this command never touches (${names}): create an empty one, and copy into that`,
        )
      }
      await query(`create table if not exists copy_progress (
        table_name text primary key,
        -- of the source, when the copy began
        rows bigint not null,
        sha256 text not null,
        copied bigint not null default 0,
        last_key text,
        begun_at bigint not null default now_ms(),
        finished_at bigint
      )`)
      const plan = [...source].map(([name, { rows: count, sha256 }]) => ({ name, count, sha256 }))
      await query(
        `insert into copy_progress (table_name, rows, sha256)
         select name, count, sha256 from json_to_recordset($1::json) as t (name text, count bigint, sha256 text)`,
        [JSON.stringify(plan)],
      )
      // A server that starts now sees the mark. One that started before is detected here.
      await refuseServers().catch(async (error: unknown) => {
        await query('delete from copy_progress where not exists (select from copy_progress where copied > 0)')
        throw error
      })
    },
    async insert(table, rows, { after, to }) {
      const { name, columns } = table
      const nul = rows.find((row) => Object.values(row).some((value) => typeof value === 'string' && value.includes('\0')))
      if (nul)
        throw new CopyRefused(`a text of ${name} ${keyText(table, nul)} holds U+0000, which PostgreSQL cannot store: change it first`)
      const made = name === termsColumn.table ? [termsColumn] : []
      const names = columns.map((column) => column.name)
      const typed = columns.map((column) => `${column.name} ${postgresTypes[column.type]}`)
      const parts = made.flatMap(({ madeOf }) => madeOf.map((part) => `${part} text`))
      const { rowCount } = await query(
        `with moved as (
          update copy_progress set copied = copied + $1::bigint, last_key = $2
            where table_name = $3 and last_key is not distinct from $4 and finished_at is null returning 1
        )
        insert into ${name} (${[...names, ...made.map((column) => column.name)].join(', ')})
          select ${[...names, ...made.map(({ sql }) => sql)].join(', ')}
          from json_to_recordset($5::json) as r (${[...typed, ...parts].join(', ')}) where exists (select from moved)`,
        [rows.length, to, name, after, JSON.stringify(rows.map(plainRow))],
      )
      return rowCount === rows.length
    },
    async settle() {
      for (const table of ['chunks', 'spending'])
        await query(`select setval(pg_get_serial_sequence('${table}', 'id'), (select coalesce(max(id), 0) + 1 from ${table}), false)`)
      await query(countAllWords)
      // Plans made for empty tables would scan full ones.
      await query(`analyze chunk_words, ${tables.map(({ name }) => name).join(', ')}`)
    },
    async finish() {
      await query('update copy_progress set finished_at = now_ms()')
    },
    async close() {
      await Promise.all(clients.map((one) => one.end()))
    },
  }
}

/** Returns the row as JSON can represent it: integers as digits, bytes as hex. */
function plainRow(row: Row): Record<string, string | null> {
  const plain: Record<string, string | null> = {}
  for (const [name, value] of Object.entries(row)) {
    if (value === null) plain[name] = null
    else if (value instanceof Uint8Array)
      plain[name] = `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
    else plain[name] = String(value)
  }
  return plain
}
