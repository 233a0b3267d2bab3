/** What erasure leaves in the files of SQLite, and that both levels of cleanup remove what they should (`erase`). */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { databaseFile, openForReading, openForWriting } from '../../src/store/sqlite/database.ts'
import { forget } from '../../src/store/sqlite/forget.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'

const rows = 3000

/** A database in which many rows were moved between pages and then erased; `left` counts what can still be read in its files. */
function emptied(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-forget-'))
  const db = openForWriting(folder)
  t.after(() => {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  })
  migrate(db, readMigrations(), undefined)
  db.exec('pragma foreign_keys = off; create table texts (id integer primary key, name text unique, text text, figure integer)')
  const insert = db.prepare('insert into texts (id, name, text) values (?, ?, ?)')
  const grow = db.prepare('update texts set figure = 70000 where id = ?')
  const erase = db.prepare('update texts set text = null, name = null, figure = null where id = ?')
  // An order different from the rows' own, as users arrive: pages are split, get emptier and give rows to each other. Some rows stay.
  const shuffled = Array.from({ length: rows }, (_, row) => (row * 1301) % rows)
  const text = (row: number): string => `${row % 9 === 0 ? 'kept' : 'CANARY'} ${'x'.repeat((row * 37) % (row % 10 === 0 ? 20_000 : 900))}`
  db.exec('begin')
  for (const row of shuffled) insert.run(row, `${text(row).slice(0, 60)} ${row}`, text(row))
  for (const row of shuffled.toReversed()) grow.run(row)
  db.exec('commit; pragma wal_checkpoint(truncate)')
  for (const row of shuffled.toSorted((a, b) => (a % 61) - (b % 61))) if (row % 9 !== 0) erase.run(row)
  db.exec(`insert into turns (request_id, api_key_id, fingerprint, conversation_id, owner_id, agent_id, agent_version, state, run, attempt, fence,
    hold, prompt_price, completion_price, message_tokens, created_at, started_at, ended_at, erased_at)
    values ('r', 'k', x'00', 'c', 'o', 'a', 1, 'failed', 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 2)`)
  const left = (): number =>
    ['', '-wal']
      .map((suffix) => databaseFile(folder) + suffix)
      .filter((file) => existsSync(file))
      .reduce((sum, file) => sum + readFileSync(file, 'latin1').split('CANARY').length - 1, 0)
  return { db, folder, left }
}

void test('erase: truncating the log leaves rare remnants, and rewriting the file leaves none', (t) => {
  const { db, left } = emptied(t)
  assert.ok(left() > rows / 2, 'the log holds the old pages')
  assert.equal(forget(db, 'wal'), 'forgotten')
  const remnants = left()
  assert.ok(remnants > 0 && remnants < rows / 10, `${remnants} remnants of ${rows} rows`)
  assert.equal(forget(db, 'vacuum'), 'forgotten')
  assert.equal(left(), 0)
})

void test('erase: the file is rewritten only when something was erased since the last time', (t) => {
  const { db } = emptied(t)
  const changes = (): unknown =>
    db
      .prepare('select rebuilt_at from rebuilds')
      .all()
      .map((row) => ({ ...row }))
  forget(db, 'vacuum')
  assert.deepEqual(changes(), [{ rebuilt_at: 3n }])
  db.exec('delete from rebuilds; insert into rebuilds values (7)')
  forget(db, 'vacuum')
  assert.deepEqual(changes(), [{ rebuilt_at: 7n }])
})

void test('erase: when a reader still needs the old pages, busy is reported immediately, without waiting', (t) => {
  const { db, folder, left } = emptied(t)
  const reader = openForReading(folder)
  reader.exec('begin')
  reader.prepare('select count(*) from texts').get()
  db.exec(`insert into texts values (9999, 'late', 'CANARY', 1)`)
  db.exec(`delete from texts`)
  const startedAt = performance.now()
  assert.equal(forget(db, 'wal'), 'busy')
  assert.ok(performance.now() - startedAt < 2500, 'the writer did not wait out its busy timeout')
  assert.ok(left() > 0)
  reader.close()
  assert.equal(forget(db, 'wal'), 'forgotten')
})
