/**
 * What every store must do with the work of turns that end without a reply: it is not charged, and if a caller can cause such an end, it
 * stays reserved until credits of the same amount are posted (`billing.unpaid`). Part of the conformance suite (conformance.ts).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { causeKinds } from '../../src/cause-kinds.ts'
import type { CauseKind } from '../../src/cause-kinds.ts'
import type { AdmittedTurn } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'
import type { Check } from './conformance.ts'

const leaseMs = 15_000
const never = 1_000_000n

/** What one turn holds. */
const holdOf = async (store: Bench['store']): Promise<bigint> => (await (await Bench.make(store, never)).admitted()).hold

const unpaidOf = async ({ store, ownerId }: Bench): Promise<bigint> => (await store.read.findOwner(ownerId))!.unpaid

/** A credit, or an adjustment if the amount is negative. */
async function append({ store, ownerId }: Bench, amount: bigint): Promise<string> {
  const id = `led_${randomUUID()}`
  return (await store.write.appendLedgerEntry({ id, ownerId, idempotencyKey: id, amount, note: null, maxBalance: 10n ** 18n })).kind
}

const credit = async (bench: Bench, amount: bigint): Promise<void> => assert.equal(await append(bench, amount), 'appended')

/** A turn that ends without a reply for a cause that a caller can trigger. */
const endWithout = async (bench: Bench, turn: AdmittedTurn, unpaid: bigint, causeKind: CauseKind | null = 'step_limit'): Promise<void> => {
  assert.equal((await bench.fail(turn, 'failed', { unpaid, causeKind })).kind, 'ended')
}

export function unpaidConformance(check: Check): void {
  check(
    'billing.unpaid: what a turn without a reply used is reserved, never charged, and a credit frees as much as it adds',
    async (store) => {
      const hold = await holdOf(store)
      const bench = await Bench.make(store, 2n * hold)
      const ends = { causeKind: 'turn_timeout' } as const
      assert.equal((await bench.fail(await bench.admitted(), 'released', { ...ends, unpaid: 300n })).kind, 'ended')
      await endWithout(bench, await bench.admitted(), 200n)
      assert.deepEqual(await bench.money(), { balance: 2n * hold, held: 0n })
      assert.equal(await unpaidOf(bench), 500n)
      const first = await bench.admitted()
      assert.equal((await bench.admit()).kind, 'insufficient_balance', 'the rest is reserved')
      assert.equal((await bench.advance(first, { hold: 2n * hold - 500n })).kind, 'advanced', 'an extension gets what is left')
      assert.equal((await bench.advance(first, { hold: 2n * hold - 499n })).kind, 'insufficient_balance')
      await credit(bench, 200n)
      assert.equal(await unpaidOf(bench), 300n)
      await credit(bench, hold)
      assert.equal(await unpaidOf(bench), 0n)
      await bench.settle(first)
      await bench.admitted()
      await bench.verify()
    },
  )

  check('billing.unpaid: causes of the provider and of the service reserve nothing, those that a caller can trigger do', async (store) => {
    const bench = await Bench.make(store, never)
    const reserving: (CauseKind | 'cancelled')[] = []
    let reserved = 0n
    for (const causeKind of causeKinds) {
      await endWithout(bench, await bench.admitted(), 7n, causeKind)
      const unpaid = await unpaidOf(bench)
      if (unpaid > reserved) reserving.push(causeKind)
      reserved = unpaid
    }
    assert.deepEqual(reserving.toSorted(), [
      'answer_too_large',
      'empty_reply',
      'filtered',
      'insufficient_balance',
      'prompt_too_long',
      'refused',
      'reply_cut_off',
      'spend_limit_exceeded',
      'step_limit',
      'tool_call_cut_off',
      'tool_call_limit',
      'tool_outcome_unknown',
      'turn_timeout',
    ])
    assert.equal(reserved, 7n * BigInt(reserving.length))
    const cancelled = await bench.admitted()
    assert.ok(await store.write.requestCancel({ requestId: cancelled.requestId }))
    const end = { code: 'turn_cancelled', causeKind: null, unpaid: 5n } as const
    assert.equal((await bench.fail(cancelled, 'cancelled', end)).kind, 'ended')
    assert.equal(await unpaidOf(bench), reserved + 5n)
    // All of it is reported, reserved or not.
    const now = await store.read.storeTime()
    const { totals } = await store.read.usageByBucket({
      from: now - 60_000,
      to: now + 60_000,
      bucketMs: 3_600_000,
      ownerId: bench.ownerId,
    })
    assert.equal(totals.unpaid, 7n * BigInt(causeKinds.length) + 5n)
    await bench.verify()
  })

  check('billing.unpaid: an adjustment reserves again what a credit of the same amount has cleared', async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, hold)
    await endWithout(bench, await bench.admitted(), hold)
    for (let cycle = 0; cycle < 3; cycle++) {
      await credit(bench, hold)
      assert.equal(await unpaidOf(bench), 0n)
      await credit(bench, -hold)
      assert.equal(await unpaidOf(bench), hold, `cycle ${cycle}`)
      assert.equal((await bench.admit()).kind, 'insufficient_balance')
      await bench.verify()
    }
    // Only what was cleared, however large the adjustment is.
    await credit(bench, hold + 5n)
    await credit(bench, -5n)
    assert.equal(await unpaidOf(bench), 5n)
    await credit(bench, -2n * hold)
    assert.equal(await unpaidOf(bench), hold)
    await bench.verify()
  })

  const amount = fc.bigInt({ min: 1n, max: 400_000n })
  const operation = fc.oneof(
    fc.record({ does: fc.constant('credit'), amount }),
    fc.record({ does: fc.constant('adjust'), amount }),
    fc.record({ does: fc.constantFrom('reply', 'failure'), amount }),
    // Repeated, because what a credit clears must have been used before.
    fc.record({ does: fc.constant('free text'), amount }),
    fc.record({ does: fc.constant('free text'), amount }),
  )
  check(
    'billing.unpaid: after any credits, adjustments and free text, credits have cleared at most what they add without the adjustments',
    async (store) => {
      const hold = await holdOf(store)
      const property = fc.asyncProperty(
        fc.bigInt({ min: 1n, max: 2n * hold }),
        fc.array(operation, { maxLength: 40 }),
        async (opening, operations) => {
          const bench = await Bench.make(store, opening)
          let credited = opening
          let mostCredited = opening
          let free = 0n
          let charged = 0n
          for (const { does, amount: drawn } of operations) {
            if (does === 'credit' || does === 'adjust') {
              const entry = does === 'credit' ? drawn : -drawn
              if ((await append(bench, entry)) === 'appended') credited += entry
              if (credited > mostCredited) mostCredited = credited
            } else {
              const outcome = await bench.admit()
              if (outcome.kind !== 'admitted') continue
              const used = drawn < hold ? drawn : hold
              if (does === 'reply') {
                // A completion token costs 60.
                const usage = { promptTokens: 0, completionTokens: Number(used / 60n), charged: (used / 60n) * 60n }
                assert.equal((await bench.settle(outcome.turn, usage)).kind, 'settled')
                charged += usage.charged
              } else await endWithout(bench, outcome.turn, used, does === 'free text' ? 'step_limit' : 'provider_503')
              if (does === 'free text') free += used
            }
            const unpaid = await unpaidOf(bench)
            const cleared = free - unpaid
            assert.ok(cleared >= 0n && cleared <= credited, `${cleared} cleared, ${credited} credited`)
            assert.ok(free + charged <= 2n * mostCredited, `${free} free and ${charged} paid of ${mostCredited}`)
          }
          await bench.verify()
        },
      )
      await fc.assert(property, { numRuns: 25 })
    },
  )

  check(
    'billing.unpaid: an owner gets at most its balance, in replies and in the work of turns without one, however many turns end',
    async (store) => {
      const hold = await holdOf(store)
      const balance = 20n * hold
      const bench = await Bench.make(store, balance)
      let used = 0n
      let turns = 0
      for (let round = 0; round < 100; round++) {
        const outcomes = await store.admitMany(Array.from({ length: 8 }, () => bench.admission()))
        const admitted = outcomes.flatMap((outcome) => (outcome.kind === 'admitted' ? [outcome.turn] : []))
        if (admitted.length === 0) break
        turns += admitted.length
        // One of four is answered and charged; the others use up to their hold, and report even more.
        const [paid, ...failed] = admitted
        const charged = 60n * (hold / 180n)
        if (admitted.length === 8) {
          assert.equal((await bench.settle(paid!, { promptTokens: 0, completionTokens: Number(charged / 60n), charged })).kind, 'settled')
          used += charged
        } else failed.push(paid!)
        const ends = failed.map(({ requestId, fence }, index) => ({
          requestId,
          fence,
          unpaid: hold / BigInt(1 + (index % 3)) + (index === 0 ? hold : 0n),
        }))
        await store.failMany(
          ends.map((end) => ({
            ...end,
            state: 'released',
            code: 'service_unavailable',
            cause: 'test',
            causeKind: 'step_limit',
            neededHold: 0n,
            trace: null,
          })),
        )
        for (const { unpaid } of ends) used += unpaid < hold ? unpaid : hold
      }
      assert.equal((await bench.admit()).kind, 'insufficient_balance')
      assert.ok(used <= balance && used > balance - hold, `${used} of ${balance} used`)
      assert.ok(turns >= 20)
      const { balance: left, held } = await bench.money()
      assert.equal(left - (await unpaidOf(bench)), balance - used)
      assert.equal(held, 0n)
      await bench.verify()
    },
  )

  check(
    "billing.unpaid: after a turn ran out of balance, turns of its agent hold what it needed, until a credit or the agent's next version",
    async (store) => {
      const hold = await holdOf(store)
      const needed = 2n * hold + 1n
      const bench = await Bench.make(store, 5n * hold)
      const runOut = async (turn: AdmittedTurn, neededHold: bigint): Promise<void> => {
        assert.equal(
          (await bench.fail(turn, 'released', { code: 'insufficient_balance', causeKind: 'insufficient_balance', neededHold })).kind,
          'ended',
        )
      }
      const [one, two] = [await bench.admitted(), await bench.admitted()]
      await runOut(one, needed)
      await runOut(two, hold)
      const both = [await bench.admitted(), await bench.admitted()]
      assert.deepEqual(
        both.map((turn) => turn.hold),
        [needed, needed],
      )
      assert.equal((await bench.admit()).kind, 'insufficient_balance')
      for (const turn of both) await bench.settle(turn, { charged: 0n, promptTokens: 0, completionTokens: 0 })
      // Another agent of the owner is not affected.
      const other = await bench.another()
      assert.equal((await other.admitted()).hold, hold)
      await credit(bench, 1n)
      const after = await bench.admitted()
      assert.equal(after.hold, hold)
      await runOut(after, needed)
      await bench.revise({})
      const revised = await bench.admitted()
      assert.equal(revised.hold, hold)
      await bench.settle(revised)
      await bench.verify()
    },
  )

  check('billing.unpaid: a failure that is sent twice, or with an old fence, counts once', async (store) => {
    const bench = await Bench.make(store, never)
    const turn = await bench.admitted()
    const late = { ...turn, fence: turn.fence + 1 }
    const end = { unpaid: 40n, causeKind: 'turn_timeout' } as const
    assert.equal((await bench.fail(late, 'released', { ...end, neededHold: never })).kind, 'lost')
    for (let n = 0; n < 2; n++) await bench.fail(turn, 'released', end)
    assert.equal(await unpaidOf(bench), 40n)
    assert.equal((await bench.admitted()).hold, turn.hold)
    await bench.verify()
  })

  check(
    'billing.unpaid: of a turn whose process died in each attempt, the hold counts as unpaid, and nothing is reserved',
    async (store) => {
      const bench = await Bench.make(store, never)
      const turn = await bench.admitted()
      const exhausted: string[] = []
      for (let attempt = 1; attempt <= 3; attempt++) {
        await store.moveClock(leaseMs + 1)
        for (const which of ['fresh', 'suspect'] as const)
          exhausted.push(...(await store.claimOrphans({ which, limit: 1000, leaseMs, running: [] })).exhausted)
      }
      assert.ok(exhausted.includes(turn.requestId))
      assert.equal(await unpaidOf(bench), 0n)
      assert.deepEqual(await bench.money(), { balance: never, held: 0n })
      const now = await store.read.storeTime()
      const { totals } = await store.read.usageByBucket({
        from: now - 60_000,
        to: now + 60_000,
        bucketMs: 3_600_000,
        ownerId: bench.ownerId,
      })
      assert.equal(totals.unpaid, turn.hold)
      await bench.verify()
    },
  )

  check(
    'billing.unpaid: the usage of an owner shows what its turns without a reply used, at the time they ended, and each run of a turn',
    async (store) => {
      const bench = await Bench.make(store, never)
      const admission = bench.admission()
      await bench.fail(await bench.admitted(admission), 'released', { unpaid: 70n, causeKind: 'turn_timeout' })
      await bench.fail(await bench.admitted(admission), 'released', { unpaid: 30n })
      await bench.settle(await bench.admitted())
      const usageOf = async (filter: object) => {
        const now = await store.read.storeTime()
        return (await store.read.usageByBucket({ from: now - 60_000, to: now + 60_000, bucketMs: 3_600_000, ...filter })).totals
      }
      const usage = await usageOf({ ownerId: bench.ownerId })
      assert.deepEqual([usage.unpaid, usage.charged], [100n, 600n])
      assert.equal((await usageOf({ ownerId: bench.ownerId, agentId: bench.agentId, apiKeyId: bench.apiKeyId })).unpaid, 100n)
      assert.equal((await usageOf({ ownerId: 'own_other' })).unpaid, 0n)
      await bench.settle(await bench.admitted(admission))
      assert.equal((await usageOf({ ownerId: bench.ownerId })).unpaid, 100n, 'of its runs without a reply')
      await bench.verify()
    },
  )
}
