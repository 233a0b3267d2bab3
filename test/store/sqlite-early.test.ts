/**
 * `turn.durable-first` on the embedded store: its real writer on a real file, with a commit that can be observed and can fail. Which
 * admissions are reported before their commit, what is on the disk then, and what of it holds.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { noFailpoints } from '../../src/failpoints.ts'
import { createClock } from '../../src/store/sqlite/clock.ts'
import { openForReading, openForWriting, sqlOf } from '../../src/store/sqlite/database.ts'
import { Writer } from '../../src/store/sqlite/group-commit.ts'
import type { Call, EarlyAnswer } from '../../src/store/sqlite/protocol.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { createTurnPath } from '../../src/store/sqlite/turn-path.ts'
import type { AdmittedTurn } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'

/** `failing.commits`: how many more commits fail as on a full disk. `stored`: what another connection sees. */
async function openWriter(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-early-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = await openSqliteStore({ folder })
  const bench = await Bench.make(store, 1_000_000n)
  const running = await bench.admitted({ externalUserId: 'ann' })
  await store.close()
  const db = openForWriting(folder)
  t.after(() => db.close())
  const reader = openForReading(folder)
  t.after(() => reader.close())
  const failing = { commits: 0 }
  const writable = {
    exec(text: string) {
      // SQLITE_FULL
      if (text === 'commit' && failing.commits-- > 0) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
      db.exec(text)
    },
    prepare: (text: string) => db.prepare(text),
    get isTransaction() {
      return db.isTransaction
    },
  }
  const clock = createClock(new SharedArrayBuffer(8))
  const writer = new Writer(writable, createTurnPath(db, clock), sqlOf(db, clock.now), noFailpoints)
  const stored = (): number => Number(reader.prepare('select count(*) as n from turns').get()!['n'])
  const answer = async (...calls: Call[]) => {
    const early: EarlyAnswer[] = []
    const storedThen: number[] = []
    const answers = await writer.answer(calls, (reported) => {
      early.push(...reported)
      storedThen.push(stored())
    })
    return { outcomes: answers.map(({ outcomes }) => outcomes), early, storedThen }
  }
  return { bench, running, failing, stored, answer }
}

const admits = (bench: Bench, id = 1, changes = {}): Call => ({ id, operation: 'admit', items: [bench.admission(changes)] })
const write = (id: number): Call => ({
  id,
  operation: 'write',
  items: [{ name: 'createOwner', args: [{ id: 'own_new', name: 'new', credit: undefined }] }],
})

void test('turn.durable-first sqlite: admissions are reported before their commit, and what is reported is what is returned', async (t) => {
  const { bench, answer, stored } = await openWriter(t)
  const { outcomes, early, storedThen } = await answer(admits(bench, 7), admits(bench, 8, { agentId: 'agt_none' }), admits(bench, 9))
  assert.deepEqual(storedThen, [1], 'called once for the group, and nothing of it is stored')
  assert.equal(stored(), 3)
  assert.deepEqual(
    early.map(({ id, early }) => [id, early.map(([index]) => index)]),
    [
      [7, [0]],
      [9, [0]],
    ],
  )
  assert.equal(early[0]!.early[0]![1], outcomes[0]![0])
  assert.equal(early[1]!.early[0]![1], outcomes[2]![0])
})

void test('turn.durable-first fault.sqlite-disk-full sqlite: a commit that fails takes back what was reported', async (t) => {
  const { bench, answer, failing, stored } = await openWriter(t)
  // The group, and then its item alone.
  failing.commits = 2
  const refused = await answer(admits(bench))
  assert.equal(refused.early.length, 1)
  assert.ok('error' in refused.outcomes[0]![0]! && refused.outcomes[0]![0]!.error.kind === 'unavailable')
  assert.equal(stored(), 1)
  // The item alone succeeds: it is another admission, which was not reported.
  failing.commits = 1
  const again = await answer(admits(bench))
  assert.equal(again.early.length, 1)
  assert.notEqual(again.early[0]!.early[0]![1], again.outcomes[0]![0])
  assert.ok('value' in again.outcomes[0]![0]!)
  assert.equal(stored(), 2)
})

void test('turn.durable-first sqlite: a group with an error, with an operator’s change or with the last exchange reports nothing early', async (t) => {
  const { bench, running, answer } = await openWriter(t)
  const withError = await answer(admits(bench), { id: 2, operation: 'admit', items: [bench.admission({ apiKeyId: 'key_of_nobody' })] })
  assert.deepEqual([withError.early, 'value' in withError.outcomes[0]![0]!], [[], true])
  const withChange = await answer(write(1), admits(bench, 2))
  assert.deepEqual([withChange.early, 'value' in withChange.outcomes[1]![0]!], [[], true])
  const settle: Call = { id: 1, operation: 'settle', items: [bench.settlement(running)] }
  const next = await answer(settle, admits(bench, 2, { externalUserId: 'ann' }), admits(bench, 3))
  assert.deepEqual(
    next.early.map(({ id }) => id),
    [3],
    'its history is not durable; that of another user is',
  )
  const { turn } = (next.outcomes[1]![0] as { value: { turn: AdmittedTurn } }).value
  assert.equal(turn.history.length, 2)
})
