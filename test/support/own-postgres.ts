/**
 * Real stores on a PostgreSQL database of their own, each as another process would have it; closed and dropped when the test ends. Time is
 * moved by putting another function in the place of the database's clock.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import type { PostgresOptions } from '../../src/store/postgres/postgres.ts'
import type { SharedStore } from '../../src/store/store.ts'
import { makeDatabase, withClient } from './postgres-server.ts'
import type { OwnDatabase } from './postgres-server.ts'

export type OwnStore = SharedStore & { moveClock(milliseconds: number): Promise<void> }

export type OwnPostgres = {
  url: string
  /** One more store on the same database, as another process opens one; `url` where it goes through a proxy. */
  open(options?: Partial<PostgresOptions>): Promise<OwnStore>
  /** The rows of one statement, beside all stores; a bigint is a text, as pg gives it. */
  rows<Row extends object = Record<string, string>>(text: string, ...values: unknown[]): Promise<Row[]>
  /** The first of them; there must be one. */
  row<Row extends object = Record<string, string>>(text: string, ...values: unknown[]): Promise<Row>
}

export const quiet: PostgresOptions['log'] = { warn: () => undefined, info: () => undefined }

/** Moves a database's clock, for every connection at once: it is a function there. */
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

/** A store on a database of its own for the conformance suite; `way` answers the address by which it is reached. */
export async function openForConformance(way: (url: string) => string = (url) => url) {
  const database = await makeDatabase()
  const store = await openPostgresStore({ url: way(database.url), log: quiet })
  return {
    store: { ...store, moveClock: clockOf(database.url) },
    async close() {
      await store.close()
      await database.drop()
    },
  }
}

/** `database`: one that was made elsewhere, on a server of the test's own. */
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

/** Asks until it is so; never a fixed wait. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  const limit = Date.now() + limitMs
  while (!(await isSo())) {
    if (Date.now() > limit) throw new Error(`not within ${limitMs} ms: ${what}`)
    await pass(10)
  }
}
