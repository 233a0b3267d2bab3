/**
 * `turn.durable-first` on PostgreSQL: an admission is reported in front of its commit, in the same round trip, and what was reported does
 * not hold if the commit fails or its connection is lost.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Admission, AdmissionOutcome } from '../../src/store/turn-records.ts'
import type { Store } from '../../src/store/store.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { noPostgres, withClient } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const skip = noPostgres()
/** A commit that does this first waits in `withHeldCommit`. */
const waitsForTest = 'perform pg_advisory_xact_lock_shared(7)'

/** Each commit of a new turn does this first. The statements themselves are not delayed. */
async function open(t: TestContext, beforeCommit: string, failpoints = '') {
  const database = await ownPostgres(t)
  const first = await database.open()
  const { ownerId } = await Bench.make(first, 1_000_000n)
  // Long enough for a busy machine: a report that never comes ends the admission with an error.
  const store = await database.open({ failpoints, deadlines: { admissionMs: 15_000 } })
  const bench = new Bench(store, ownerId.slice('own_'.length), 8000)
  await withClient(database.url, (client) =>
    client.query(`create sequence commits;
      create function before_commit() returns trigger language plpgsql as 'begin ${beforeCommit}; return null; end';
      create constraint trigger before_commit after insert on turns deferrable initially deferred for each row execute function before_commit()`),
  )
  const stored = async (): Promise<number> => Number((await database.row('select count(*) as n from turns')).n)
  /** Returns the number of sessions that have ended. */
  const endSession = async (): Promise<number> => {
    const { n } = await database.row(`select count(*) filter (where pg_terminate_backend(pid, 60000)) as n from pg_stat_activity
      where datname = current_database() and state = 'active' and query like 'select admit_v2%' and pid <> pg_backend_pid()`)
    return Number(n)
  }
  /** Commits that do `waitsForTest` wait until `letGo` is called. */
  const withHeldCommit = (use: (letGo: () => Promise<unknown>) => Promise<void>): Promise<void> =>
    withClient(database.url, async (client) => {
      await client.query('select pg_advisory_lock(7)')
      await use(() => client.query('select pg_advisory_unlock(7)'))
    })
  return { bench, store, stored, endSession, withHeldCommit }
}

/** `meanwhile` starts when the outcome is reported early. */
async function admit<Result>(store: Store, admission: Admission, meanwhile: () => Promise<Result>) {
  let early: { outcome: AdmissionOutcome; result: Promise<Result> } | undefined
  const [outcome] = await store.admitMany([admission], (_, reported) => {
    assert.equal(early, undefined, 'reported once')
    early = { outcome: reported, result: meanwhile() }
  })
  return { outcome, early: early?.outcome, result: await early?.result }
}

for (const failpoints of ['', 'admit.after-commit=delay:1']) {
  const how = failpoints === '' ? 'in one round trip' : 'with failpoints'
  void test(`turn.durable-first postgres: an admission is reported while its commit waits for the disk, ${how}`, { skip }, async (t) => {
    const { bench, store, stored, withHeldCommit } = await open(t, waitsForTest, failpoints)
    for (let times = 0; times < 3; times++) {
      await withHeldCommit(async (letGo) => {
        const { outcome, early, result } = await admit(store, bench.admission(), () => stored().finally(letGo))
        assert.ok(outcome?.kind === 'admitted', 'reported before its commit')
        assert.equal(early, outcome)
        assert.equal(result, times, 'not stored when it was reported')
      })
    }
    assert.equal(await stored(), 3)
  })
}

void test(
  'turn.durable-first postgres: a commit that fails takes back what was reported; the item alone is another admission',
  { skip },
  async (t) => {
    const { bench, store, stored } = await open(t, `if nextval(''commits'') = 1 then raise exception ''by the test''; end if`)
    const { outcome, early } = await admit(store, bench.admission(), stored)
    assert.equal(early?.kind, 'admitted')
    assert.equal(outcome?.kind, 'admitted')
    assert.notEqual(early, outcome)
    assert.equal(await stored(), 1)
    assert.equal((await bench.money()).held, (outcome as { turn: { hold: bigint } }).turn.hold, 'held once')
  },
)

void test(
  'turn.durable-first fault.postgres-connection-lost postgres: a connection lost before the commit takes back what was reported',
  { skip },
  async (t) => {
    const { bench, store, stored } = await open(t, 'null', 'admit.early=drop@1')
    const { outcome, early } = await admit(store, bench.admission(), stored)
    assert.equal(early?.kind, 'admitted')
    assert.ok(outcome?.kind === 'admitted')
    assert.notEqual(early, outcome)
    assert.equal(await stored(), 1)
  },
)

void test(
  'turn.durable-first fault.postgres-connection-lost postgres: a session that ends between the report and its commit takes it back, in one round trip',
  { skip },
  async (t) => {
    const { bench, store, stored, endSession, withHeldCommit } = await open(t, waitsForTest)
    await withHeldCommit(async (letGo) => {
      const { outcome, early, result } = await admit(store, bench.admission(), () => endSession().finally(letGo))
      assert.equal(result, 1, 'the session has ended')
      assert.equal(early?.kind, 'admitted')
      assert.equal(outcome?.kind, 'admitted')
      assert.notEqual(early, outcome)
    })
    assert.equal(await stored(), 1)
  },
)

void test(
  'turn.durable-first fault.commit-reply-lost postgres: a commit whose answer is lost is found again, and what was reported does not hold',
  { skip },
  async (t) => {
    const { bench, store, stored } = await open(t, 'null', 'commit.sent=drop@1 if:admit')
    const { outcome, early } = await admit(store, bench.admission(), stored)
    assert.equal(early?.kind, 'admitted')
    assert.ok(outcome?.kind === 'admitted')
    assert.notEqual(early, outcome)
    assert.equal(await stored(), 1)
  },
)
