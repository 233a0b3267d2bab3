/**
 * `billing.reports`: the CSV of a million turns of a year, by day and end user and by end user alone, does not fill memory and does not block
 * the event loop. TEST_TURNS=100000 is a quicker run.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { usageAdmin } from '../../src/admin/owners/usage.ts'
import { usageCsv } from '../../src/http/admin/csv.ts'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { makeMigratedDatabase, ownPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import type { TestStore } from './conformance.ts'
import { fillTurns, filledFrom, makeKeys } from './report-fill.ts'

const turns = Number(process.env['TEST_TURNS'] ?? 1_000_000)
const users = Math.ceil(turns / 100)
const year = { from: filledFrom - 200 * 86_400_000, to: filledFrom + 165 * 86_400_000 }
// On a busy machine. A report that was read at once would block for seconds and need gigabytes.
const maxBlockedMs = 500
const maxGrowth = 500_000_000

async function readReports(t: TestContext, store: TestStore): Promise<void> {
  for (const groupBy of [['day', 'end_user'], ['end_user'], ['api_key']] as const) {
    const before = process.memoryUsage().rss
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    let [lines, bytes, peak] = [0, 0, before]
    const startedAt = performance.now()
    for await (const part of usageCsv(await usageAdmin.readUsageLines({ store } as never, { ...year, groupBy: [...groupBy] }))) {
      lines += part.split('\r\n').length - 1
      bytes += part.length
      peak = Math.max(peak, process.memoryUsage().rss)
    }
    delay.disable()
    const ms = Math.round(performance.now() - startedAt)
    const blocked = Math.round(delay.max / 1e6)
    const grown = Math.round((peak - before) / 1e6)
    t.diagnostic(
      `${groupBy.join()}: ${turns} turns, ${lines} lines, ${bytes} bytes in ${ms} ms; blocked ${blocked} ms at most, memory + ${grown} MB`,
    )
    assert.ok(blocked < maxBlockedMs, `blocked for ${blocked} ms`)
    assert.ok(grown * 1e6 < maxGrowth, `${grown} MB`)
  }
}

void test('sqlite: billing.reports: a year of a million turns is written in parts', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-million-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const first = await openSqliteStore({ folder })
  const keys = await makeKeys(first)
  await first.close()
  const db = new DatabaseSync(databaseFile(folder))
  db.exec('pragma synchronous = off; pragma cache_size = -1000000')
  await fillTurns((statement) => db.exec(statement), keys, { turns, users, noFingerprint: 'zeroblob(32)' })
  db.close()
  const store = await openSqliteStore({ folder })
  t.after(() => store.close())
  await readReports(t, store)
})

void test('postgres: billing.reports: a year of a million turns is written in parts', { skip: noPostgres() }, async (t) => {
  const database = await ownPostgres(t, await makeMigratedDatabase())
  const store = await database.open()
  const keys = await makeKeys(store)
  const noFingerprint = `decode(repeat('00', 32), 'hex')`
  await fillTurns(async (statement) => void (await database.rows(statement)), keys, { turns, users, noFingerprint })
  await readReports(t, store)
})
