/**
 * The writer of the embedded store on a real file, without its thread: what one group stores when an item of it fails, and a history longer
 * than one read.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { noFailpoints } from '../../src/failpoints.ts'
import { createClock } from '../../src/store/sqlite/clock.ts'
import { openForWriting, sqlOf } from '../../src/store/sqlite/database.ts'
import { Writer } from '../../src/store/sqlite/group-commit.ts'
import { createTurnPath } from '../../src/store/sqlite/turn-path.ts'
import { migrate, readMigrations } from '../../src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { Bench } from './conformance.ts'

async function ownFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-group-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

void test('sqlite: in a group with a failing item every other item is stored, once, whether it is before or after it', async (t) => {
  const folder = await ownFolder(t)
  const store = await openSqliteStore({ folder })
  const bench = await Bench.make(store, 1_000_000n)
  const running = await bench.admitted()
  await store.close()

  const db = openForWriting(folder)
  migrate(db, readMigrations(), folder)
  const clock = createClock(new SharedArrayBuffer(8))
  const writer = new Writer(db, createTurnPath(db, clock), sqlOf(db, clock.now), noFailpoints)
  const owner = (id: string) => ({ name: 'createOwner', args: [{ id, name: id, credit: undefined }] })
  const answers = await writer.answer([
    { id: 1, operation: 'settle', items: [bench.settlement(running)] },
    { id: 2, operation: 'write', items: [owner('own_new')] },
    { id: 3, operation: 'admit', items: [bench.admission(), bench.admission({ apiKeyId: 'key_of_nobody' }), bench.admission()] },
    { id: 4, operation: 'write', items: [owner(bench.ownerId), owner('own_last')] },
  ])
  const succeeded = answers.map(({ outcomes }) => outcomes.map((outcome) => 'value' in outcome))
  assert.deepEqual(succeeded, [[true], [true], [true, false, true], [false, true]])
  const count = (text: string): unknown => db.prepare(text).get()!['n']
  assert.equal(count('select count(*) as n from turns'), 3n)
  assert.equal(count("select count(*) as n from turns where state = 'running'"), 2n)
  assert.equal(count('select count(*) as n from messages'), 2n)
  assert.equal(count("select count(*) as n from owners where id in ('own_new', 'own_last')"), 2n)
  db.close()

  const again = await openSqliteStore({ folder })
  t.after(() => again.close())
  assert.deepEqual(
    (await again.read.verify()).filter(({ rows }) => rows.length > 0),
    [],
  )
})

void test('fault.sqlite-disk-full sqlite: a ping fails while writes fail, also if nothing else is written, and soon after it succeeds again', async (t) => {
  const folder = await ownFolder(t)
  const db = openForWriting(folder)
  t.after(() => db.close())
  migrate(db, readMigrations(), folder)
  let full = false
  let commits = 0
  const writable = {
    exec(text: string) {
      if (text !== 'commit') return db.exec(text)
      commits++
      // SQLITE_FULL
      if (full) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
      db.exec(text)
    },
    prepare: (text: string) => db.prepare(text),
    get isTransaction() {
      return db.isTransaction
    },
  }
  let now = 0
  const clock = createClock(new SharedArrayBuffer(8))
  const writer = new Writer(writable, createTurnPath(db, clock), sqlOf(db, clock.now), noFailpoints, () => now)
  const ping = async (): Promise<string> => {
    const [answer] = await writer.answer([{ id: 1, operation: 'ping', items: [null] }])
    const outcome = answer!.outcomes[0]!
    return 'error' in outcome ? outcome.error.kind : 'ok'
  }
  const create = (id: string) =>
    writer.answer([{ id: 1, operation: 'write', items: [{ name: 'createOwner', args: [{ id, name: id, credit: undefined }] }] }])

  assert.equal(await ping(), 'ok')
  const before = commits
  for (let times = 0; times < 10; times++) assert.equal(await ping(), 'ok')
  assert.equal(commits, before, 'a flood of pings writes nothing')
  full = true
  await create('own_a')
  assert.equal(await ping(), 'unavailable', 'what a write has just found counts')
  full = false
  now += 5_000
  assert.equal(await ping(), 'ok')
  full = true
  now += 5_000
  assert.equal(await ping(), 'unavailable', 'without other writes')
  full = false
  now += 5_000
  assert.equal(await ping(), 'ok')
  // A refusal is no failure of the disk.
  await create('own_b')
  await create('own_b')
  assert.equal(await ping(), 'ok')
})

void test('sqlite: a history longer than one read is complete and in order, and ends where the window does', async (t) => {
  const store = await openSqliteStore({ folder: await ownFolder(t) })
  t.after(() => store.close())
  // Each exchange counts ten tokens.
  const said = (n: number) => ({ message: `ask ${n}`.padEnd(12), content: `answer ${n}`, contentTokens: 4 })
  for (const exchanges of [12, 13, 25]) {
    for (const kept of [exchanges, 12]) {
      const bench = await Bench.make(store, 10n ** 12n, kept * 10 + 9)
      const externalUserId = randomUUID()
      for (let n = 1; n <= exchanges; n++) {
        const { message, content, contentTokens } = said(n)
        await bench.settle(await bench.admitted({ externalUserId, message }), { content, contentTokens })
      }
      const { history } = await bench.admitted({ externalUserId, message: 'and now' })
      const from = Math.max(1, exchanges - kept + 1)
      const expected = Array.from({ length: exchanges - from + 1 }, (_, index) => said(from + index)).flatMap(({ message, content }) => [
        { role: 'user', content: message },
        { role: 'assistant', content },
      ])
      assert.deepEqual(history, expected, `${exchanges} exchanges, ${kept} fit`)
    }
  }
})
