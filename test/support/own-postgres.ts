/**
 * Real stores on a separate PostgreSQL database, each as another process would have it, closed and dropped when the test ends. Time is
 * moved by replacing the function that is the database's clock.
 */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import type { PostgresOptions } from '../../src/store/postgres/postgres.ts'
import type { SharedStore } from '../../src/store/store.ts'
import { makeDatabase, sharedPostgres, withClient } from './postgres-server.ts'
import type { OwnDatabase } from './postgres-server.ts'

export type OwnStore = SharedStore & { moveClock(milliseconds: number): Promise<void> }

export type OwnPostgres = {
  url: string
  /** Another store on the same database, as another process opens it; with `url`, through a proxy. */
  open(options?: Partial<PostgresOptions>): Promise<OwnStore>
  /** The rows of one statement, outside of any store; a bigint is text, as pg returns it. */
  rows<Row extends object = Record<string, string>>(text: string, ...values: unknown[]): Promise<Row[]>
  /** The first of them; there must be one. */
  row<Row extends object = Record<string, string>>(text: string, ...values: unknown[]): Promise<Row>
}

export const quiet: PostgresOptions['log'] = { warn: () => undefined, info: () => undefined }

/** Moves the clock of a database, which is a function there, for all connections at once. */
export function clockOf(url: string): (milliseconds: number) => Promise<void> {
  let offset = 0
  return async (milliseconds) => {
    offset += milliseconds
    await withClient(url, (client) =>
      client.query(`create or replace function now_ms() returns bigint language sql volatile as
        'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint + ${Math.round(offset)}'`),
    )
  }
}

let template: Promise<string> | undefined

/** A new database of the shared server with the schema of the source: a copy takes a tenth of the time of the migrations. */
export async function makeMigratedDatabase(): Promise<OwnDatabase> {
  template ??= makeTemplate()
  return makeDatabase(await template)
}

/** The first process of a run that needs the template creates it; the others wait. */
async function makeTemplate(): Promise<string> {
  const server = await sharedPostgres()
  const folder = join(import.meta.dirname, '../../src/store/postgres/migrations')
  const texts = readdirSync(folder)
    .toSorted()
    .map((name) => `${name}\n${readFileSync(join(folder, name), 'utf8')}`)
  const name = `turnkeep_template_${hash('sha256', texts.join('\n')).slice(0, 32)}`
  await withClient(server, async (client) => {
    // Held until the client disconnects.
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    if ((await client.query('select 1 from pg_database where datname = $1', [name])).rowCount === 1) return
    // Renamed when it is complete: a process that dies here leaves no template, only a database with another name.
    const { url, name: made } = await makeDatabase()
    const store = await openPostgresStore({ url, log: quiet })
    await store.close()
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [made])
    await client.query(`alter database ${made} rename to ${name}`)
  })
  return name
}

/** A store on its own database for the conformance suite; `way` returns the URL of the proxy through which it is used. */
export async function openThrough(way: (url: string) => string) {
  const database = await makeMigratedDatabase()
  const store = await openPostgresStore({ url: way(database.url), log: quiet })
  return {
    store: { ...store, moveClock: clockOf(database.url) },
    async close() {
      await store.close()
      await database.drop()
    },
  }
}

/** `database`: one that was created elsewhere, on a server of the test. */
export async function ownPostgres(t: TestContext, database?: OwnDatabase): Promise<OwnPostgres> {
  const { url, drop } = database ?? (await makeDatabase())
  const stores: SharedStore[] = []
  const moveClock = clockOf(url)
  t.after(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await drop()
  })
  const rows = <Row extends object>(text: string, ...values: unknown[]): Promise<Row[]> =>
    withClient(url, async (client) => (await client.query<Row>(text, values)).rows)
  return {
    url,
    rows,
    async row<Row extends object>(text: string, ...values: unknown[]) {
      const [first] = await rows<Row>(text, ...values)
      if (!first) throw new Error(`no row: ${text}`)
      return first
    },
    async open(options = {}) {
      const store = await openPostgresStore({ url, log: quiet, ...options })
      stores.push(store)
      return { ...store, moveClock }
    },
  }
}
