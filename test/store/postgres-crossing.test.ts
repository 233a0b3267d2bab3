/**
 * Two processes whose batches overlap in every way, over the same owners, users and keys: locks are taken in one order, so no deadlock
 * occurs, no item ends in an error, and the ledger is correct. One seed determines the whole run; a failing run prints it.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Webhook } from '../../src/resources/webhook.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Admission, AdmittedTurn } from '../../src/store/turn-records.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import type { OwnStore } from '../support/own-postgres.ts'
import { noPostgres, noPostgresServer, startPostgres, withClient } from '../support/postgres-server.ts'
import { Bench } from './conformance.ts'

const leaseMs = 15_000
const dayMs = 24 * 60 * 60 * 1000
const steps = Number(process.env['TEST_CROSSING_STEPS'] ?? 300)

/** Random numbers from a seed, the same each time (mulberry32). */
function numbersOf(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

void test(
  'postgres: overlapping batches of two processes never deadlock, end no item in an error, and leave the ledger correct',
  { skip: noPostgresServer() },
  async (t) => {
    // Any deadlock is found immediately, before one of its members times out.
    const server = await startPostgres({ lines: ["deadlock_timeout = '20ms'"] })
    const database = await ownPostgres(t, await server.makeDatabase())
    t.after(() => server.stop())
    const deadlines = { admissionMs: 30_000, settlementMs: 30_000 }
    const stores = [await database.open({ deadlines }), await database.open({ deadlines })]
    const owners = await Promise.all([1, 2, 3].map(() => Bench.make(stores[0]!, 10n ** 9n)))
    const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31))
    t.diagnostic(`TEST_SEED=${seed}`)
    let operations = 0

    /** What one caller of a process does: an operation, and the next one when that has returned. */
    async function goOn(store: OwnStore, random: (below: number) => number, movesClock: boolean): Promise<void> {
      const benches = owners.map(({ ownerId }) => new Bench(store, ownerId.slice('own_'.length), 8000))
      const any = <Value>(values: Value[]): Value => values[random(values.length)]!
      const several = <Value>(most: number, make: () => Value): Value[] => Array.from({ length: 1 + random(most) }, make)
      let running: AdmittedTurn[] = []
      const conversations = new Set<string>()
      const sound = <Outcome extends { kind: string }>(outcomes: Outcome[]): Outcome[] => {
        operations += outcomes.length
        for (const outcome of outcomes)
          assert.notEqual(outcome.kind, 'error', String((outcome as unknown as { error?: Error }).error?.stack))
        return outcomes
      }
      // Few users and few keys, so that both processes want the same ones; a key may return with another user once it has expired.
      const admission = (): Admission => {
        const changes = { externalUserId: `user-${random(6)}`, idempotencyKey: `key-${random(12)}`, message: any(['one', 'two']) }
        return { ...any(benches).admission(changes), requestId: randomUUID() }
      }
      const mine = (): AdmittedTurn[] => {
        const taken = several(8, () => running.splice(random(Math.max(1, running.length)), 1)[0]).filter((turn) => turn !== undefined)
        return taken as AdmittedTurn[]
      }
      const operationsOf: (() => Promise<unknown>)[] = [
        async () => {
          for (const outcome of sound(await store.admitMany(several(16, admission))))
            if (outcome.kind === 'admitted') {
              running.push(outcome.turn)
              conversations.add(outcome.turn.conversationId)
            }
        },
        async () => sound(await store.settleMany(mine().map((turn) => benches[0]!.settlement(turn)))),
        async () => {
          const state = any(['released', 'failed'] as const)
          sound(
            await store.failMany(
              mine().map((turn) => ({
                ...turn,
                state,
                code: 'internal_error' as const,
                cause: 'c',
                causeKind: 'internal_error' as const,
                unpaid: 0n,
                neededHold: 0n,
                trace: null,
              })),
            ),
          )
        },
        async () => {
          const turns = mine()
          running.push(...turns)
          const items = turns.map((turn) => {
            const entries = [{ step: random(1000), part: 1, kind: 'tool_finished' as const, payload: '{}' }]
            const hold = turn.hold + BigInt(random(1000))
            return benches[0]!.advancing(turn, { entries, hold, finishedSideEffects: random(2) === 0 })
          })
          sound(await store.advanceMany(items))
        },
        async () => {
          const lost = await store.renewLeases(running, leaseMs)
          running = running.filter((turn) => !lost.some(({ requestId, fence }) => requestId === turn.requestId && fence === turn.fence))
        },
        async () => {
          await store.releaseLeases(several(4, () => any(running)).filter((turn) => turn !== undefined))
        },
        async () => {
          const claims = await store.claimOrphans({ which: any(['fresh', 'suspect']), limit: 10, leaseMs, running: [] })
          sound(claims.turns.map(() => ({ kind: 'claimed' })))
          running.push(...claims.turns)
        },
        () =>
          store.write.eraseConversations({
            conversationIds: several(4, () => any([...conversations, 'conv_none'])),
            idleMs: any([undefined, 0]),
          }),
        () => store.write.clearExpired({ limit: 50 }),
        () => {
          const id = `led_${randomUUID()}`
          const { ownerId } = any(benches)
          return store.write.appendLedgerEntry({
            id,
            ownerId,
            idempotencyKey: id,
            amount: 1000n,
            note: null,
            maxBalance: 10n ** 17n,
          })
        },
        () => store.write.changeOwner(any(benches).ownerId, { name: 'renamed' }),
        () => store.write.changeAgent({ id: any(benches).agentId, enabled: true }),
      ]
      // Most operations are turns; the operator's changes come now and then.
      const often = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 4, 5, 6, 6]
      for (let step = 0; step < steps; step++) {
        await operationsOf[random(8) === 0 ? 7 + random(operationsOf.length - 7) : any(often)]!()
        if (movesClock && step % 20 === 19) await store.moveClock(random(2) === 0 ? leaseMs : dayMs)
      }
      await store.failMany(
        running.map((turn) => ({
          ...turn,
          state: 'failed',
          code: 'internal_error',
          cause: 'the end',
          causeKind: 'internal_error' as const,
          unpaid: 0n,
          neededHold: 0n,
          trace: null,
        })),
      )
    }
    const callers = stores.flatMap((store, index) =>
      [0, 1, 2].map((caller) => goOn(store, numbersOf(seed + index * 3 + caller), index + caller === 0)),
    )
    await Promise.all(callers)
    // One caller moves the clock for all, so a turn may be left without an owner: recovery ends it.
    for (let left = 1; left > 0;) {
      await stores[0]!.moveClock(2 * dayMs)
      const { turns } = await stores[0]!.claimOrphans({ which: 'fresh', limit: 1000, leaseMs, running: [] })
      const suspects = await stores[0]!.claimOrphans({ which: 'suspect', limit: 1, leaseMs, running: [] })
      const ends = [...turns, ...suspects.turns].map((turn) => ({
        ...turn,
        state: 'failed' as const,
        code: 'internal_error' as const,
        cause: 'e',
        causeKind: 'internal_error' as const,
        unpaid: 0n,
        neededHold: 0n,
        trace: null,
      }))
      for (const outcome of await stores[0]!.failMany(ends)) assert.equal(outcome.kind, 'ended')
      left = Number((await database.row(`select count(*) from turns where state = 'running'`)).count)
    }
    for (const bench of owners) {
      await bench.verify()
      assert.equal((await bench.money()).held, 0n)
    }
    const { deadlocks } = await database.row(
      'select pg_stat_force_next_flush(), deadlocks from pg_stat_database where datname = current_database()',
    )
    const rings = (await server.log()).match(/deadlock detected/g)?.length ?? 0
    t.diagnostic(`${operations} operations, ${rings} deadlocks in the server's log, ${deadlocks} in its statistics`)
    assert.equal(rings, 0, await server.log())
  },
)

void test(
  'postgres: a lock that another session holds for too long is reported as unavailable, and nothing is stored',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open({ deadlines: { admissionMs: 30_000, settlementMs: 30_000 } })
    const bench = await Bench.make(store, 1_000_000n)
    const running = await bench.admitted({ externalUserId: 'ann' })
    const other = await bench.admitted()
    const before = await bench.money()
    const admission = bench.admission()
    const settlement = bench.settlement(running)
    await withClient(database.url, async (client) => {
      await client.query('begin')
      await client.query('select from owners where id = $1 for update', [bench.ownerId])
      const [[admitted], [settled], advanced] = await Promise.all([
        store.admitMany([admission]),
        store.settleMany([settlement]),
        bench.advance(other, { hold: other.hold + 1n }),
      ])
      for (const outcome of [admitted, settled, advanced])
        assert.ok(outcome?.kind === 'error' && outcome.error instanceof StoreUnavailable, outcome?.kind)
      await client.query('rollback')
    })
    assert.deepEqual(await bench.money(), before)
    assert.equal((await database.rows('select from turns')).length, 2)
    await until('admissions are asked for again', async () => (await store.admitMany([admission]))[0]!.kind === 'admitted')
    assert.equal((await store.settleMany([settlement]))[0]!.kind, 'settled')
    await bench.verify()
  },
)

void test(
  'postgres: while another session holds the row of an owner, the messages to its agents are refused together, and those of others are admitted',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    // If each agent of the owner waited for the lock on its own, there would be no time left for the other owner.
    const store = await database.open({ deadlines: { admissionMs: 5_000, settlementMs: 30_000 } })
    const other = await Bench.make(store, 10n ** 9n)
    const held = await Bench.make(store, 10n ** 9n)
    const agents = [held]
    while (agents.length < 30) agents.push(await held.another())
    await withClient(database.url, async (client) => {
      await client.query('begin')
      await client.query('select from owners where id = $1 for update', [held.ownerId])
      const outcomes = await store.admitMany([...agents, other].map((bench) => bench.admission()))
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        [...agents.map(() => 'error'), 'admitted'],
      )
      await client.query('rollback')
    })
    await held.verify()
  },
)

void test(
  'postgres: an admission never waits for a turn, so erasing the turns of an expired key cannot deadlock with it',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open({ deadlines: { admissionMs: 30_000, settlementMs: 30_000 } })
    const bench = await Bench.make(store, 10n ** 9n)
    const old = [await bench.admitted({ idempotencyKey: 'a' }), await bench.admitted({ idempotencyKey: 'b' })]
    for (const turn of old) await bench.settle(turn)
    await store.moveClock(dayMs)
    // The same keys again, by other users, in a different order than the erasure's.
    const again = ['b', 'a'].map((idempotencyKey) => bench.admission({ idempotencyKey }))
    await withClient(database.url, async (client) => {
      const erase = (turn: AdmittedTurn) =>
        client.query('update turns set message = null, erased_at = 1 where request_id = $1', [turn.requestId])
      await client.query('begin')
      await erase(old[0]!)
      const admitting = store.admitMany(again)
      const waits = async (): Promise<boolean> =>
        (await database.rows(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).length > 0
      const first = await Promise.race([admitting, until('it waits or goes on', waits, 1_000).catch(() => undefined)])
      assert.equal(first, undefined, 'it does not go past the one that is being erased')
      await erase(old[1]!)
      await client.query('commit')
      assert.deepEqual(
        (await admitting).map(({ kind }) => kind),
        ['admitted', 'admitted'],
      )
    })
    assert.equal((await database.row('select deadlocks from pg_stat_database where datname = current_database()')).deadlocks, '0')
  },
)

void test(
  'postgres: while a change of a webhook waits for a transaction that has read the webhooks, others still read them',
  { skip: noPostgres() },
  async (t) => {
    const database = await ownPostgres(t)
    const store = await database.open()
    await withClient(database.url, async (reader) => {
      await reader.query('begin')
      await reader.query('select id from webhooks')
      const events: Webhook['events'] = ['*']
      const webhook = { id: 'whk_1', url: 'https://a.example/', events, ownerId: null, agentId: null, description: null }
      const changed = store.write.createWebhook({ ...webhook, includeMessages: false, sealedSecret: Uint8Array.of(1) })
      const isWaiting = `select 1 from pg_stat_activity where query ~ '^(select )?lock' and state = 'active'`
      await until('the change waits', async () => (await database.rows(isWaiting)).length > 0)
      // A read that is queued behind the change would wait for the reader.
      for (let n = 0; n < 3; n++) await database.rows('select id from webhooks')
      await reader.query('commit')
      assert.equal((await changed).kind, 'stored')
    })
  },
)
