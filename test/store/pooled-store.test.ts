/** A store that tests use one after another holds what a new one holds, and obeys only the test that has it. Runs like /own-store.ts on both. */
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { takeStore } from '../support/pooled-store.ts'
import type { PooledStore } from '../support/pooled-store.ts'
import { withClient } from '../support/postgres-server.ts'
import { storeKind } from '../support/store-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'
import { startTestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'
import { Bench } from './conformance.ts'

const provider = {
  id: 'prv_1',
  name: 'some',
  kind: 'openai',
  baseUrl: 'https://models.example',
  sealedApiKey: new Uint8Array(8),
} as const
const tablesQuery =
  storeKind === 'postgres'
    ? `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`
    : `select '"' || name || '"' as name from sqlite_master where type = 'table'`

/** The number of rows of every table. */
async function rowsOf({ data }: PooledStore): Promise<Record<string, unknown>> {
  const tables = await data.query(tablesQuery)
  const counts = tables.map(async ({ name }) => [name, (await data.query(`select count(*) as n from ${name}`))[0]!['n']] as const)
  return Object.fromEntries(await Promise.all(counts))
}

void test('a store that was given back holds what a new one holds', async () => {
  const fresh = await takeStore()
  const { folder } = fresh
  const [rows, files] = [await rowsOf(fresh), readdirSync(folder).toSorted()]
  await fresh.store.close()

  await using app = await startTestApp()
  assert.equal(app.folder, folder, 'the app has the store of the pool')
  await app.chat('a text that no later test may find')
  await app.moveClock(86_400_000)
  writeFileSync(join(folder, 'left behind'), '')
  assert.ok(Number((await rowsOf({ ...fresh, data: app.data }))[storeKind === 'postgres' ? 'turns' : '"turns"']) > 0)
  await app.close()

  const again = await takeStore()
  assert.equal(again.folder, folder)
  assert.deepEqual(await rowsOf(again), rows)
  assert.deepEqual(readdirSync(folder).toSorted(), files)
  assert.equal(await again.data.occurrences('a text that no later test may find'), 0)
  const made = await again.store.write.createProvider(provider)
  assert.ok(Math.abs(made!.createdAt - Date.now()) < 3_600_000, 'its clock was moved back')
  await again.store.close()
})

void test('after its end, an app reaches no store of the pool and hears of no change', async () => {
  const heard: string[] = []
  const first = await takeStore()
  first.store.onChange(() => heard.push('first'))
  await first.store.write.createProvider(provider)
  await until('the change is reported', () => heard.includes('first'))
  await first.store.close()
  heard.length = 0

  const second = await takeStore()
  assert.equal(second.folder, first.folder)
  second.store.onChange(() => heard.push('second'))
  assert.ok(await second.store.write.createProvider(provider), 'the provider of the first app is gone')
  await until('the change is reported', () => heard.includes('second'))
  assert.ok(!heard.includes('first'))
  for (const ask of [() => first.store.ping(), () => first.store.read.verify(), () => first.store.write.createProvider(provider)])
    await assert.rejects(ask, StoreUnavailable)
  await second.store.close()
})

void test('what is still being written at the end of an app is not in the next one', async () => {
  const fresh = await takeStore()
  const rows = await rowsOf(fresh)
  await fresh.store.close()

  const { store, data, folder } = await takeStore()
  const bench = await Bench.make({ ...store, moveClock: () => {} }, 10n ** 12n)
  await bench.admitted()
  const letGo = await writeUntil(folder, data)
  const last = store.write.createProvider(provider)
  const closed = store.close()
  await wait(300)
  await letGo()
  await closed
  const next = await takeStore()
  const found = await rowsOf(next)
  await next.store.close()
  assert.deepEqual(found, rows)
  assert.ok(await last, 'it was waited for')
})

/** A transaction with a row that is not there before, which ends when the returned function is called. */
async function writeUntil(folder: string, { env }: StoreUnderTest): Promise<() => Promise<void>> {
  const row = `insert into messages (id, conversation_id, seq, role, content, tokens, request_id, created_at)
    select 'msg_1', 'a conversation', 1, 'user', 'hello', 1, request_id, 0 from turns`
  if (storeKind === 'sqlite') {
    const db = new DatabaseSync(databaseFile(folder))
    db.exec(`pragma foreign_keys = off; begin immediate; ${row}`)
    return async () => {
      db.exec('commit')
      db.close()
    }
  }
  const written = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const writer = withClient(env['DATABASE_URL']!, async (client) => {
    await client.query(`begin; ${row}; select request_id from turns for update`)
    written.resolve()
    await end.promise
    await client.query('commit')
  })
  await Promise.race([written.promise, writer])
  return async () => {
    end.resolve()
    await writer
  }
}

void test('a store that a test has damaged is not used again', async () => {
  const damaged = await takeStore()
  await damaged.data.drop()
  if (storeKind === 'sqlite') writeFileSync(join(damaged.folder, 'turnkeep.db'), 'no database any more')
  await damaged.store.close()
  const next = await takeStore()
  assert.notEqual(next.folder, damaged.folder)
  assert.deepEqual(
    (await next.store.read.verify()).filter(({ rows }) => rows.length > 0),
    [],
  )
  await next.store.close()
})
