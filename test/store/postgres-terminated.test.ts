/**
 * The database terminates its connections while turns run, again and again: each item ends in exactly one outcome, the ledger is correct,
 * and no process ends.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Admission } from '../../src/store/turn-records.ts'
import type { Each } from '../../src/store/store.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import type { OwnPostgres } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const charged = 600n
const balance = 100_000_000n

/** Terminates every connection to this database except this one; returns how many there were. */
async function terminateAll({ rows }: OwnPostgres): Promise<number> {
  const ended = await rows(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  return ended.length
}

void test(
  'fault.postgres-connection-lost postgres: all connections are terminated again and again during turns: one outcome each and a correct ledger',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const bench = await Bench.make(store, balance)
    const turns = 400
    let tries = 0

    /** As a turn does it: the same item again until there is an outcome. */
    async function outcomeOf<Outcome extends { kind: string }>(call: () => Promise<Each<Outcome>[]>): Promise<Outcome> {
      for (;;) {
        tries += 1
        const outcome = (await call())[0]!
        if (outcome.kind !== 'error') return outcome as Outcome
        const { error } = outcome as { error: Error }
        assert.ok(error instanceof StoreUnavailable, error.stack)
        await pass(50)
      }
    }

    async function oneTurn(number: number): Promise<{ admission: Admission; messageId: string | null }> {
      const admission = bench.admission()
      const outcome = await outcomeOf(() => store.admitMany([admission]))
      assert.ok(outcome.kind === 'admitted', outcome.kind)
      const { turn } = outcome
      assert.equal(turn.requestId, admission.requestId)
      if (number % 5 === 0) {
        const failure = {
          requestId: turn.requestId,
          fence: turn.fence,
          state: 'failed' as const,
          code: 'internal_error' as const,
          cause: 'c',
          causeKind: 'internal_error' as const,
          unpaid: 0n,
          neededHold: 0n,
          trace: null,
        }
        assert.equal((await outcomeOf(() => store.failMany([failure]))).kind, 'ended')
        return { admission, messageId: null }
      }
      const settlement = bench.settlement(turn)
      assert.equal((await outcomeOf(() => store.settleMany([settlement]))).kind, 'settled')
      return { admission, messageId: settlement.assistantMessageId }
    }

    let done = 0
    const callers = Array.from({ length: 16 }, async (_, caller) => {
      const ended = []
      for (let number = caller; number < turns; number += 16) {
        ended.push(await oneTurn(number))
        done += 1
      }
      return ended
    })
    const all = Promise.all(callers)
    let rounds = 0
    for (const share of [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
      await until('turns come and go', () => done >= turns * share, 60_000)
      assert.ok((await terminateAll(database)) > 0)
      rounds += 1
    }
    const ended = (await all).flat()
    t.diagnostic(`${turns} turns, ${rounds} rounds, ${tries} calls`)

    for (const { admission, messageId } of ended) {
      const outcome = await outcomeOf(() => store.admitMany([{ ...admission, requestId: randomUUID() }]))
      if (messageId === null)
        assert.deepEqual(outcome, { kind: 'replayed_failure', requestId: admission.requestId, code: 'internal_error' })
      else assert.ok(outcome.kind === 'replay' && outcome.reply.messageId === messageId, outcome.kind)
    }
    const completed = ended.filter(({ messageId }) => messageId !== null).length
    assert.deepEqual(await bench.money(), { balance: balance - charged * BigInt(completed), held: 0n })
    await bench.verify()
  },
)

void test(
  'fault.postgres-connection-lost postgres: idle connections that are terminated are logged and replaced',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const warnings: string[] = []
    const store = await database.open({ log: { warn: (_, message) => void warnings.push(message), info: () => undefined } })
    const bench = await Bench.make(store, balance)
    await bench.settle(await bench.admitted())
    await terminateAll(database)
    await until('it is logged', () => warnings.includes('lost an idle database connection'))
    await bench.settle(await bench.admitted())
    await store.read.verify()
    await bench.verify()
  },
)

void test(
  'fault.sync-failover postgres: a read-only database is reported as unavailable, and used again when it accepts writes, without a restart',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const bench = await Bench.make(store, balance)
    const running = await bench.admitted()
    const settlement = bench.settlement(running)
    const name = new URL(database.url).pathname.slice(1)
    // Like a standby at the primary's address: it accepts connections, reads, and rejects writes.
    await database.rows(`alter database ${name} set default_transaction_read_only = on`)
    await terminateAll(database)
    const [admitted] = await store.admitMany([bench.admission()])
    assert.ok(admitted?.kind === 'error' && admitted.error instanceof StoreUnavailable, admitted?.kind)
    const [settled] = await store.settleMany([settlement])
    assert.ok(settled?.kind === 'error' && settled.error instanceof StoreUnavailable, settled?.kind)
    await assert.rejects(store.ping(), StoreUnavailable)
    assert.equal((await bench.money()).held, running.hold, 'what can be read is read')
    await database.rows(`set transaction read write; alter database ${name} reset default_transaction_read_only`)
    await terminateAll(database)
    const isBack = (): Promise<boolean> =>
      store.ping().then(
        () => true,
        () => false,
      )
    await until('it takes writes again', isBack)
    assert.equal((await store.settleMany([settlement]))[0]!.kind, 'settled')
    await bench.settle(await bench.admitted())
    await bench.verify()
  },
)
