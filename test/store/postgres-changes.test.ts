/**
 * Changes by other processes are noticed immediately, also after the listening connection was lost; changes that are not cached are not
 * notified.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

void test(
  'postgres: a change through one store is notified to another, once each; maintenance is not',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const other = await database.open()
    let heard = 0
    other.onChange(() => void heard++)
    let own = 0
    store.onChange(() => void own++)
    const bench = await Bench.make(store, 1_000_000n)
    await until('both listen', async () => {
      await bench.revise({ maxMessageLength: 1000 })
      return heard > 0
    })
    const settled = async (): Promise<number> => {
      let last = -1
      await until('all is heard of', async () => {
        const before = last
        last = heard
        await pass(200)
        return before === heard
      })
      return heard
    }
    const before = await settled()
    await bench.revise({ maxMessageLength: 2000 })
    assert.equal((await settled()) - before, 1)

    await store.write.clearExpired({ limit: 10 })
    await store.write.touchApiKeys([{ id: bench.apiKeyId, agoMs: 1 }])
    await store.write.eraseConversations({ conversationIds: [] })
    const turn = await bench.admitted()
    await bench.settle(turn)
    const credit = { id: 'led_1', ownerId: bench.ownerId, idempotencyKey: 'k', amount: 5n, note: null, maxBalance: 10n ** 17n }
    await store.write.appendLedgerEntry(credit)
    assert.equal((await settled()) - before, 1, 'none of it is kept')
    assert.ok(own > 0, 'a store tells its own writes too')
  },
)

void test(
  'postgres: a lost listening connection is replaced, and changes that may have been missed are reported once',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    const other = await database.open()
    const bench = await Bench.make(store, 1_000_000n)
    let heard = 0
    other.onChange(() => void heard++)
    await until('it listens', async () => {
      await bench.revise({ maxMessageLength: 1000 })
      return heard > 0
    })
    await pass(300)
    const listening = (): Promise<{ pid: number }[]> =>
      database.rows(
        `select pid from pg_stat_activity where datname = current_database() and query like 'select pg_advisory_lock(%' order by pid`,
      )
    const before = await listening()
    assert.equal(before.length, 2, 'one a store')
    heard = 0
    for (const { pid } of before) await database.rows('select pg_terminate_backend($1)', pid)
    // No one receives this one: whoever listens again must learn that something may have been missed.
    await bench.revise({ maxMessageLength: 2000 })
    await until(
      'both listen again',
      async () => (await listening()).filter(({ pid }) => !before.some((old) => old.pid === pid)).length === 2,
    )
    // Nothing was changed meanwhile, but the store cannot know that.
    await until('the missed changes are reported', () => heard > 0)
    await pass(300)
    assert.equal(heard, 1)
    await bench.revise({ maxMessageLength: 2000 })
    await until('changes are heard of again', () => heard === 2)
  },
)
