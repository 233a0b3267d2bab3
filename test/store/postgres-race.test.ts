/**
 * A thousand concurrent calls through three processes' stores: what fits the balance to the last 10⁻⁸ USD, one turn per key, one new turn
 * when a record expires.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Admission, AdmissionOutcome, AdmittedTurn } from '../../src/store/turn-records.ts'
import type { Each, Later } from '../../src/store/store.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import type { OwnPostgres, OwnStore } from '../support/own-postgres.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { spendScopes } from '../../src/spend-limits.ts'
import { Bench } from './conformance.ts'
import { raceForOneFinish } from './journal-conformance.ts'
import { setLimits } from './spend-limit-conformance.ts'
import { listDeliveries, makeWebhook } from './webhook-conformance.ts'

const dayMs = 24 * 60 * 60 * 1000
const deadlines = { admissionMs: 60_000, settlementMs: 60_000 }
/** The usage that the hold covers. */
const atMost = { promptTokens: 63, completionTokens: 100 }

const openThree = (database: OwnPostgres): Promise<OwnStore[]> => Promise.all([1, 2, 3].map(() => database.open({ deadlines })))

/** Every store gets its share in calls of `most` items, all running concurrently. */
async function admitAtOnce(stores: OwnStore[], items: Admission[], most: number): Promise<(Each<AdmissionOutcome> | Later)[]> {
  const calls: Promise<(Each<AdmissionOutcome> | Later)[]>[] = []
  for (let from = 0; from < items.length; from += most)
    calls.push(stores[calls.length % stores.length]!.admitMany(items.slice(from, from + most)))
  return (await Promise.all(calls)).flat()
}

function count(outcomes: { kind: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of outcomes) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

void test(
  'postgres: balance_never_negative: a thousand at once through three stores, and a balance for exactly a hundred of them',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const stores = await openThree(database)
    const price = await Bench.make(stores[0]!, 10n ** 9n)
    const { hold } = await price.admitted()
    for (const spare of [0n, -1n]) {
      const bench = await Bench.make(stores[0]!, hold * 100n + spare)
      const fits = spare < 0n ? 99 : 100
      const admissions = Array.from({ length: 1000 }, () => bench.admission())
      const outcomes = await admitAtOnce(stores, admissions, 8)
      assert.deepEqual(count(outcomes), { admitted: fits, insufficient_balance: 1000 - fits })
      assert.deepEqual(await bench.money(), { balance: hold * 100n + spare, held: hold * BigInt(fits) })
      const turns = outcomes.flatMap((outcome) => (outcome.kind === 'admitted' ? [outcome.turn] : []))
      const settled = await Promise.all(
        turns.map((turn, index) => stores[index % 3]!.settleMany([bench.settlement(turn, { ...atMost, charged: hold })])),
      )
      assert.deepEqual(count(settled.flat()), { settled: fits })
      assert.deepEqual(await bench.money(), { balance: spare < 0n ? hold - 1n : 0n, held: 0n })
      await bench.verify()
    }
  },
)

void test(
  'postgres: billing.spend-limit: a thousand at once through three stores on a limit for 137, of one end user with many keys, of one key, of one agent',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const stores = await openThree(database)
    const { hold } = await (await Bench.make(stores[0]!, 10n ** 9n, 0)).admitted()
    for (const scope of spendScopes) {
      const bench = await Bench.make(stores[0]!, 10n ** 12n, 0)
      await setLimits(bench, { scope, span: 'total', amount: 138n * hold - 1n })
      const webhookId = await makeWebhook(stores[0]!, { events: ['spend_limit.reached'], agentId: bench.agentId })
      const keys = [bench]
      if (scope === 'end_user') while (keys.length < 100) keys.push(await bench.anotherKey())
      // With one key each, at most as many turns of the end user run as it has keys, so its turns are settled and others are sent.
      const admitted: AdmittedTurn[] = []
      const counts: Record<string, number> = {}
      for (let sent = 0; sent < 1000; sent += keys.length === 1 ? 1000 : 100) {
        const admissions = Array.from({ length: keys.length === 1 ? 1000 : 100 }, (_, index) =>
          keys[index % keys.length]!.admission(scope === 'end_user' ? { externalUserId: 'ann' } : {}),
        )
        const outcomes = await admitAtOnce(stores, admissions, 8)
        for (const [kind, n] of Object.entries(count(outcomes))) counts[kind] = (counts[kind] ?? 0) + n
        const turns = outcomes.flatMap((outcome) => (outcome.kind === 'admitted' ? [outcome.turn] : []))
        const settlements = turns.map((turn) => bench.settlement(turn, { ...atMost, charged: hold }))
        assert.deepEqual(
          count((await Promise.all(settlements.map((item, index) => stores[index % 3]!.settleMany([item])))).flat()),
          turns.length > 0 ? { settled: turns.length } : {},
        )
        admitted.push(...turns)
      }
      assert.deepEqual(counts, { admitted: 137, spend_limit_exceeded: 1000 - 137 }, scope)
      assert.equal(admitted.length, 137)
      // Without the holds of other turns: the limit refuses them through every store.
      const late = await admitAtOnce(
        stores,
        keys.slice(0, 3).flatMap((key) => [1, 2, 3].map(() => key.admission(scope === 'end_user' ? { externalUserId: 'ann' } : {}))),
        1,
      )
      assert.deepEqual(Object.keys(count(late)), ['spend_limit_exceeded'])
      const percents = (await listDeliveries(stores[1]!, webhookId)).map((eventId) => eventId.split('_')[3])
      assert.deepEqual(percents.toSorted(), ['100', '50', '80'], `${scope}: each threshold is one event`)
      await bench.verify()
    }
  },
)

void test(
  'postgres: billing.unpaid: turns end in every way through three stores at once: never more is used than the balance, and then all is refused',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const stores = await openThree(database)
    const { hold } = await (await Bench.make(stores[0]!, 10n ** 9n)).admitted()
    const balance = hold * 60n
    const bench = await Bench.make(stores[0]!, balance)
    let used = 0n
    let turns = 0
    /** One process: admits, and ends each turn in the next way. Two of three get no reply and report more than they hold. */
    const take = async (store: OwnStore, first: number): Promise<void> => {
      for (let n = first; ; n++) {
        const [outcome] = await store.admitMany([bench.admission()])
        if (outcome!.kind === 'insufficient_balance') return
        assert.ok(outcome!.kind === 'admitted', outcome!.kind)
        const { turn } = outcome
        turns++
        if (n % 3 === 0) {
          const [settled] = await store.settleMany([bench.settlement(turn, { ...atMost, charged: hold })])
          assert.equal(settled!.kind, 'settled')
          used += turn.hold
        } else {
          const unpaid = n % 3 === 1 ? hold * 5n : hold / 2n
          const end = {
            state: 'released',
            code: 'service_unavailable',
            cause: 'test',
            causeKind: 'turn_timeout',
            unpaid,
            neededHold: 0n,
            trace: null,
          } as const
          const [ended] = await store.failMany([{ requestId: turn.requestId, fence: turn.fence, ...end }])
          assert.equal(ended!.kind, 'ended')
          used += unpaid < hold ? unpaid : hold
        }
        assert.ok(used <= balance, `${used} of ${balance}`)
      }
    }
    await Promise.all(Array.from({ length: 24 }, (_, index) => take(stores[index % 3]!, index)))
    // A process gives up while others hold what is left; together they have used it up.
    for (const store of stores) await take(store, 1)
    assert.ok(used > balance - hold && turns >= 60, `${used} of ${balance} in ${turns} turns`)
    const owner = await stores[0]!.read.findOwner(bench.ownerId)
    assert.equal(owner!.balance - owner!.unpaid, balance - used)
    assert.equal(owner!.held, 0n)
    await bench.verify()
  },
)

void test(
  'postgres: one_turn_per_key: a hundred at once through three stores: one turn, the others in progress or in conflict',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const stores = await openThree(database)
    const bench = await Bench.make(stores[0]!, 10n ** 9n)
    const admission = bench.admission()
    const same = Array.from({ length: 100 }, () => ({ ...admission, requestId: randomUUID(), conversationId: `conv_${randomUUID()}` }))
    assert.deepEqual(count(await admitAtOnce(stores, same, 1)), { admitted: 1, idempotency_in_progress: 99 })
    // Two bodies: one of them wins, and all others of its kind wait for it.
    const first = bench.admission()
    const other = { ...first, fingerprint: new Uint8Array(32).fill(7) }
    const mixed = Array.from({ length: 100 }, (_, index) => ({ ...(index % 2 ? first : other), requestId: randomUUID() }))
    assert.deepEqual(count(await admitAtOnce(stores, mixed, 1)), { admitted: 1, idempotency_in_progress: 49, idempotency_conflict: 50 })
    // One user, a key each: one runs, the others find the conversation busy.
    const user = Array.from({ length: 100 }, () => bench.admission({ externalUserId: 'ann' }))
    assert.deepEqual(count(await admitAtOnce(stores, user, 1)), { admitted: 1, conversation_busy: 99 })
    assert.equal((await database.rows(`select from conversations where external_user_id = 'ann'`)).length, 1)
    await bench.verify()
  },
)

void test(
  'postgres: idempotency.lifetime: when a record expires, a hundred through three stores replay or start one new turn; never two',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const stores = await openThree(database)
    const bench = await Bench.make(stores[0]!, 10n ** 9n)
    for (let round = 0; round < 5; round++) {
      const admission = bench.admission()
      const old = await bench.admitted(admission)
      await bench.settle(old)
      const again = Array.from({ length: 100 }, () => ({ ...admission, requestId: randomUUID() }))
      const { left } = await database.row<{ left: number }>(
        `select (ended_at + ${dayMs} - now_ms())::float8 as left from turns where request_id = $1`,
        old.requestId,
      )
      // The record expires while they are being sent.
      await stores[0]!.moveClock(left - 20 * round)
      const { replay = 0, ...counts } = count(await admitAtOnce(stores, again, 1))
      const { admitted = 0, idempotency_in_progress: waiting = 0, ...others } = counts
      assert.deepEqual(others, {})
      assert.equal(replay + admitted + waiting, 100)
      assert.ok(admitted === 1 || (admitted === 0 && replay === 100), `${replay} replays, ${admitted} new turns`)
      await stores[0]!.moveClock(60_000)
      const { turns } = await database.row('select count(*) as turns from turns where api_key_id = $1', bench.apiKeyId)
      t.diagnostic(`round ${round}: ${replay} replays, ${admitted} new, ${waiting} in progress, ${turns} turns`)
    }
    await bench.verify()
  },
)

void test(
  'postgres: retry.continues: when two processes journal the end of one call, one is stored, and the process that claims the turn reads it',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const [first, second] = [await database.open({ deadlines }), await database.open({ deadlines })]
    const older = await Bench.make(first, 10n ** 9n)
    const newer = new Bench(second, older.ownerId.slice('own_'.length), 8000)
    const won = { older: 0, newer: 0 }
    for (let round = 0; round < 50; round++) won[await raceForOneFinish(older, newer)]++
    t.diagnostic(`the older one was first ${won.older} times, the newer one ${won.newer} times`)
    await older.verify()
  },
)

void test(
  'postgres: operator.single-use: of many uses of one state at the same time through three stores, one is accepted',
  { skip: noPostgres() },
  async (t) => {
    const stores = await openThree(await ownPostgres(t))
    for (let round = 0; round < 20; round++) {
      const state = { digest: randomBytes(32), expiresAt: (await stores[0]!.read.storeTime()) + dayMs }
      const uses = await Promise.all(Array.from({ length: 12 }, (_, index) => stores[index % 3]!.write.useSignInState(state)))
      assert.equal(uses.filter((use) => use === 'accepted').length, 1, uses.join())
    }
  },
)
