/**
 * What every store must do with spend limits: the hold of a turn counts in each window of its limits from its admission, the end of the turn
 * corrects it, and no window is ever above its limit (`billing.spend-limit`). Part of the conformance suite (conformance.ts).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { spendScopes, spendSpans } from '../../src/spend-limits.ts'
import type { SpendScope, SpendSpan } from '../../src/spend-limits.ts'
import type { NewSpendLimit } from '../../src/store/queries/spend-limits.ts'
import type { Spending } from '../../src/store/queries/spending.ts'
import type { AdmittedTurn } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'
import type { Check, TestStore } from './conformance.ts'

const leaseMs = 15_000
const dayMs = 24 * 60 * 60 * 1000
const plenty = 10n ** 12n
const user = 'ann'
/** The usage that a hold covers: 10 fixed tokens, 50 of knowledge and 3 of the message, and 100 of output. */
const atMost = { promptTokens: 63, completionTokens: 100 }

/** What one turn without history holds. */
const holdOf = async (store: TestStore): Promise<bigint> => (await (await Bench.make(store, plenty, 0)).admitted()).hold

const limitOf = (scope: SpendScope, amount: bigint, span: SpendSpan = 'day'): NewSpendLimit => ({ scope, span, amount })

export async function setLimits({ store, agentId }: Bench, ...spendLimits: NewSpendLimit[]): Promise<void> {
  assert.equal((await store.write.changeAgent({ id: agentId, spendLimits })).kind, 'changed')
}

/** The figures of the windows of an agent and one of its end users, by scope and span. */
async function spendingOf({ store, agentId }: Bench, externalUserId = user): Promise<Record<string, bigint[]>> {
  const rows = (await store.read.listSpending(agentId, externalUserId)) as Spending[]
  return Object.fromEntries(rows.map(({ scope, span, spent, held, unpaid }) => [`${scope} ${span}`, [spent, held, unpaid]]))
}

/** The admission of a message of another conversation, unless `changes` names the user. */
async function kindOf(bench: Bench, changes: Parameters<Bench['admit']>[0] = {}): Promise<string> {
  return (await bench.admit(changes)).kind
}

/** Settles a turn whose charge is its whole hold. */
const payAll = async (bench: Bench, turn: AdmittedTurn): Promise<void> =>
  assert.equal((await bench.settle(turn, { ...atMost, charged: turn.hold })).kind, 'settled')

/** When the calendar month of a moment ends, in UTC. */
const endOfMonth = (now: number): number => Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1)

/** Moves the clock to a moment within the next calendar month, so that a test neither starts nor ends at a boundary by chance. */
async function toNextMonth(store: TestStore, intoMs: number): Promise<number> {
  const now = await store.read.storeTime()
  await store.moveClock(endOfMonth(now) + intoMs - now)
  return store.read.storeTime()
}

export function spendLimitConformance(check: Check): void {
  for (const scope of spendScopes) {
    check(
      `billing.spend-limit: a limit of ${scope} admits what fits to the last unit, and refuses the rest before the balance`,
      async (store) => {
        const hold = await holdOf(store)
        await toNextMonth(store, 5_000)
        const bench = await Bench.make(store, plenty, 0)
        await setLimits(bench, limitOf(scope, 3n * hold - 1n))
        const turns = [await bench.admitted({ externalUserId: user })]
        const other = scope === 'end_user' ? await bench.anotherKey() : bench
        turns.push(await other.admitted({ externalUserId: scope === 'end_user' ? user : 'bob' }))
        const last = scope === 'end_user' ? await bench.anotherKey() : bench
        const refused = await last.admit({ externalUserId: scope === 'end_user' ? user : 'cid' })
        assert.equal(refused.kind, 'spend_limit_exceeded')
        assert.ok(refused.kind === 'spend_limit_exceeded' && refused.retryAfterSeconds! > 86_300 && refused.retryAfterSeconds! <= 86_395)
        await setLimits(bench, limitOf(scope, 3n * hold))
        turns.push(await last.admitted({ externalUserId: scope === 'end_user' ? user : 'cid' }))
        // What the limit does not cover is not limited.
        if (scope === 'end_user') await bench.settle(await bench.admitted({ externalUserId: 'dan' }))
        if (scope === 'api_key') await bench.settle(await (await bench.anotherKey()).admitted({ externalUserId: user }))
        const another = await bench.another()
        await another.settle(await another.admitted({ externalUserId: user }))
        for (const turn of turns) await payAll(bench, turn)
        assert.equal(await kindOf(last, { externalUserId: scope === 'end_user' ? user : 'eve' }), 'spend_limit_exceeded')
        await bench.verify()
      },
    )
  }

  check('billing.spend-limit: a busy conversation comes before a limit, and a limit before the balance', async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, hold, 0)
    await setLimits(bench, limitOf('agent', hold))
    const turn = await bench.admitted({ externalUserId: user })
    assert.equal(await kindOf(bench, { externalUserId: user }), 'conversation_busy')
    assert.equal(await kindOf(bench), 'spend_limit_exceeded')
    await setLimits(bench, limitOf('agent', 2n * hold))
    assert.equal(await kindOf(bench), 'insufficient_balance')
    assert.deepEqual((await spendingOf(bench))['agent day'], [0n, hold, 0n], 'what the balance refuses counts in no window')
    await bench.settle(turn)
    await bench.verify()
  })

  check('billing.spend-limit: a charge counts in the window of its start, although the clock was set back meanwhile', async (store) => {
    await toNextMonth(store, 1_000)
    const bench = await Bench.make(store, plenty, 0)
    const [settled, failed] = [await bench.admitted({ externalUserId: user }), await bench.admitted()]
    // Into the month before.
    await store.moveClock(-60_000)
    await payAll(bench, settled)
    await bench.fail(failed, 'failed')
    await store.moveClock(60_000)
    await setLimits(bench, ...spendSpans.map((span) => limitOf('agent', plenty, span)))
    assert.deepEqual(await spendingOf(bench), Object.fromEntries(spendSpans.map((span) => [`agent ${span}`, [settled.hold, 0n, 0n]])))
    for (const { requestId } of [settled, failed]) {
      const { startedAt, endedAt } = (await store.read.findTurn(requestId))!
      assert.equal(endedAt, startedAt, 'a turn does not end before it starts')
    }
    await bench.verify()
  })

  check('billing.spend-limit: each end of a turn corrects every window in which it counts', async (store) => {
    await toNextMonth(store, 5_000)
    const bench = await Bench.make(store, plenty, 0)
    await setLimits(bench, ...spendScopes.flatMap((scope) => spendSpans.map((span) => limitOf(scope, plenty, span))))
    const all = (figures: bigint[]) =>
      Object.fromEntries(spendScopes.flatMap((scope) => spendSpans.map((span) => [`${scope} ${span}`, figures])))
    const admission = bench.admission({ externalUserId: user })
    const first = await bench.admitted(admission)
    assert.deepEqual(await spendingOf(bench), all([0n, first.hold, 0n]))
    assert.equal((await bench.advance(first, { hold: first.hold + 500n })).kind, 'advanced')
    assert.deepEqual(await spendingOf(bench), all([0n, first.hold + 500n, 0n]))
    // Released for a cause that no caller can trigger, then again for one that a caller can: what it used counts.
    await bench.fail(first, 'released', { unpaid: 70n, causeKind: 'provider_503' })
    assert.deepEqual(await spendingOf(bench), all([0n, 0n, 0n]))
    await bench.fail(await bench.admitted(admission), 'released', { unpaid: 70n, causeKind: 'turn_timeout' })
    assert.deepEqual(await spendingOf(bench), all([0n, 0n, 70n]))
    assert.equal((await bench.settle(await bench.admitted(admission))).kind, 'settled')
    assert.deepEqual(await spendingOf(bench), all([600n, 0n, 70n]))
    await bench.cancel(await bench.admitted({ externalUserId: user }))
    await bench.fail(await bench.admitted({ externalUserId: user }), 'failed', { unpaid: 10n ** 9n, causeKind: 'step_limit' })
    assert.deepEqual(await spendingOf(bench), all([600n, 0n, 70n + first.hold]), 'at most the hold')
    // `billing.tool-price`: a cancelled turn pays its finished tool calls.
    const paying = await bench.admitted({ externalUserId: user })
    await store.write.requestCancel({ requestId: paying.requestId })
    const charge = { ledgerEntryId: `led_${randomUUID()}`, toolCalls: 30n, charged: 30n, writtenOff: 0n }
    assert.equal((await bench.fail(paying, 'cancelled', { code: 'turn_cancelled', causeKind: null, unpaid: 7n, charge })).kind, 'ended')
    assert.deepEqual(await spendingOf(bench), all([630n, 0n, 77n + first.hold]))
    const second = bench.admission({ externalUserId: user })
    const repeated = await store.admitMany([second])
    assert.equal(repeated[0]!.kind, 'admitted')
    assert.equal(await kindOf(bench, { ...second, requestId: randomUUID() }), 'idempotency_in_progress')
    assert.deepEqual((await spendingOf(bench))['agent total'], [630n, first.hold, 77n + first.hold], 'it counts once')
    await bench.verify()
  })

  check('billing.spend-limit: a turn whose process died in each attempt holds nothing in a window', async (store) => {
    const bench = await Bench.make(store, plenty, 0)
    await setLimits(bench, limitOf('agent', plenty, 'total'), limitOf('end_user', plenty, 'total'))
    const turn = await bench.admitted({ externalUserId: user })
    assert.deepEqual((await spendingOf(bench))['agent total'], [0n, turn.hold, 0n])
    for (let attempt = 1; attempt <= 3; attempt++) {
      await store.moveClock(leaseMs + 1)
      for (const which of ['fresh', 'suspect'] as const) await store.claimOrphans({ which, limit: 1000, leaseMs, running: [] })
    }
    assert.deepEqual(await spendingOf(bench), { 'agent total': [0n, 0n, 0n], 'end_user total': [0n, 0n, 0n] })
    await bench.verify()
  })

  check(
    'billing.spend-limit: a turn counts in the window of its admission, a window ends with the UTC day or month, and nothing is reset',
    async (store) => {
      const hold = await holdOf(store)
      // Ten seconds before the end of the first day of a month.
      await toNextMonth(store, dayMs - 10_000)
      const bench = await Bench.make(store, plenty, 0)
      await setLimits(bench, limitOf('agent', hold), limitOf('end_user', 2n * hold, 'month'), limitOf('api_key', 3n * hold, 'total'))
      const first = await bench.admitted({ externalUserId: user })
      const refused = await bench.admit({ externalUserId: 'bob' })
      assert.ok(refused.kind === 'spend_limit_exceeded' && refused.retryAfterSeconds! >= 1 && refused.retryAfterSeconds! <= 10)
      await store.moveClock(10_000)
      const other = await bench.anotherKey()
      const second = await other.admitted({ externalUserId: user })
      await payAll(bench, first)
      assert.deepEqual((await spendingOf(bench))['agent day'], [0n, hold, 0n], 'the charge belongs to the day before')
      await payAll(bench, second)
      assert.deepEqual((await spendingOf(bench))['end_user month'], [2n * hold, 0n, 0n])
      await store.moveClock(dayMs)
      const month = await bench.admit({ externalUserId: user })
      assert.equal(month.kind, 'spend_limit_exceeded', 'the month of the end user')
      const now = await store.read.storeTime()
      const seconds = Math.ceil((endOfMonth(now) - now) / 1000)
      assert.ok(month.kind === 'spend_limit_exceeded' && Math.abs(month.retryAfterSeconds! - seconds) <= 10)
      await payAll(bench, await bench.admitted({ externalUserId: 'bob' }))
      await toNextMonth(store, 0)
      await payAll(bench, await bench.admitted({ externalUserId: user }))
      await store.moveClock(dayMs)
      const never = await bench.admit({ externalUserId: 'cid' })
      assert.deepEqual(never, { kind: 'spend_limit_exceeded', retryAfterSeconds: null }, 'the total of the key never ends')
      await setLimits(bench, limitOf('api_key', 4n * hold, 'total'))
      await payAll(bench, await bench.admitted({ externalUserId: 'cid' }))
      await bench.verify()
    },
  )

  check(
    'billing.spend-limit: an extension that does not fit journals nothing; what the run used counts, so text without a charge is bounded',
    async (store) => {
      const hold = await holdOf(store)
      const bench = await Bench.make(store, plenty, 0)
      await setLimits(bench, limitOf('end_user', 4n * hold, 'total'), limitOf('agent', plenty))
      const keys = [bench, await bench.anotherKey(), await bench.anotherKey()]
      let used = 0n
      for (let round = 0; round < 20; round++) {
        const turns = (await Promise.all(keys.map((key) => key.admit({ externalUserId: user })))).flatMap((outcome) =>
          outcome.kind === 'admitted' ? [outcome.turn] : [],
        )
        if (turns.length === 0) break
        for (const turn of turns) {
          const entries = [{ step: 1, part: 0, kind: 'model' as const, payload: '{}' }]
          const outcome = await bench.advance(turn, { hold: 5n * hold, entries })
          assert.deepEqual(outcome, { kind: 'spend_limit_exceeded', retryAfterSeconds: null })
          const end = { code: 'spend_limit_exceeded', causeKind: 'spend_limit_exceeded', unpaid: hold } as const
          await bench.fail(turn, 'released', end)
          used += hold
        }
      }
      assert.equal(used, 4n * hold)
      assert.deepEqual(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded')
      // The next step fits when the operator allows more.
      await setLimits(bench, limitOf('end_user', 10n * hold, 'total'))
      const turn = await bench.admitted({ externalUserId: user })
      assert.equal((await bench.advance(turn, { hold: 6n * hold })).kind, 'advanced')
      assert.equal((await bench.advance(turn, { hold: 6n * hold + 1n })).kind, 'spend_limit_exceeded')
      await bench.settle(turn)
      await bench.verify()
    },
  )

  check("billing.spend-limit: an end user's own limits replace those that its agent has for end users", async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, plenty, 0)
    const { agentId } = bench
    await setLimits(bench, limitOf('end_user', hold), limitOf('api_key', 4n * hold))
    const own = (amount: bigint, span: SpendSpan = 'day') =>
      store.write.putEndUserLimits({ agentId, externalUserId: user, limits: [limitOf('end_user', amount, span)] })
    await payAll(bench, await bench.admitted({ externalUserId: user }))
    assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded')
    await own(2n * hold)
    await payAll(bench, await bench.admitted({ externalUserId: user }))
    assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded')
    await payAll(bench, await bench.admitted({ externalUserId: 'bob' }))
    assert.equal(await kindOf(bench, { externalUserId: 'bob' }), 'spend_limit_exceeded')
    await store.write.putEndUserLimits({ agentId, externalUserId: user, limits: [] })
    await payAll(bench, await bench.admitted({ externalUserId: user }))
    assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded', 'the limit of the key')
    await setLimits(bench)
    await payAll(bench, await bench.admitted({ externalUserId: user }))
    await own(hold)
    assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded', 'without limits of the agent')
    assert.equal(await store.write.deleteEndUserLimits({ agentId, externalUserId: user }), true)
    assert.equal(await store.write.deleteEndUserLimits({ agentId, externalUserId: user }), false)
    await payAll(bench, await bench.admitted({ externalUserId: user }))
    assert.equal(await store.write.putEndUserLimits({ agentId: 'agt_unknown', externalUserId: user, limits: [] }), undefined)
    await bench.verify()
  })

  check(
    'billing.spend-limit: a new limit counts what was charged in its window before, and so does one that was removed for a time',
    async (store) => {
      const hold = await holdOf(store)
      await toNextMonth(store, 3 * dayMs)
      const bench = await Bench.make(store, plenty, 0)
      const pay = async (): Promise<void> => payAll(bench, await bench.admitted({ externalUserId: user }))
      await pay()
      await store.moveClock(dayMs)
      await pay()
      await pay()
      for (const scope of spendScopes) {
        for (const [span, earlier] of [
          ['day', 2n],
          ['month', 3n],
          ['total', 3n],
        ] as const) {
          await setLimits(bench, limitOf(scope, (earlier + 1n) * hold - 1n, span))
          assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded', `${scope} ${span}`)
          await bench.verify()
        }
      }
      await setLimits(bench, limitOf('agent', 4n * hold, 'month'))
      await pay()
      assert.deepEqual((await spendingOf(bench))['agent month'], [4n * hold, 0n, 0n])
      await setLimits(bench)
      await pay()
      await setLimits(bench, limitOf('agent', 6n * hold - 1n, 'month'))
      assert.equal(await kindOf(bench, { externalUserId: user }), 'spend_limit_exceeded')
      await setLimits(bench, limitOf('agent', 6n * hold, 'month'))
      await pay()
      await bench.verify()
    },
  )

  check(
    'billing.spend-limit: when the own limits of an end user are removed, those of its agent count what was charged meanwhile',
    async (store) => {
      const hold = await holdOf(store)
      await toNextMonth(store, 5_000)
      const bench = await Bench.make(store, plenty, 0)
      const { agentId } = bench
      const pay = async (externalUserId: string): Promise<void> => payAll(bench, await bench.admitted({ externalUserId }))
      await setLimits(bench, limitOf('end_user', 3n * hold))
      await store.moveClock(dayMs)
      // One has no window of the day yet, the other has one.
      await pay('cid')
      for (const [externalUserId, spent] of [
        [user, 4n],
        ['cid', 5n],
      ] as const) {
        const own = { agentId, externalUserId }
        await store.write.putEndUserLimits({ ...own, limits: [limitOf('end_user', plenty, 'month')] })
        for (let n = 0; n < 3; n++) await pay(externalUserId)
        await store.write.deleteEndUserLimits(own)
        assert.equal(await kindOf(bench, { externalUserId }), 'spend_limit_exceeded', externalUserId)
        // Own limits count what was charged while there were others.
        await store.write.putEndUserLimits({ ...own, limits: [limitOf('end_user', plenty, 'month')] })
        await pay(externalUserId)
        await store.write.putEndUserLimits({ ...own, limits: [limitOf('end_user', spent * hold)] })
        assert.equal(await kindOf(bench, { externalUserId }), 'spend_limit_exceeded', externalUserId)
        await store.write.deleteEndUserLimits(own)
      }
      assert.deepEqual((await spendingOf(bench, 'cid'))['end_user day'], [5n * hold, 0n, 0n])
      await store.moveClock(dayMs)
      await pay(user)
      await bench.verify()
    },
  )

  check('billing.spend-limit billing.unpaid: what a turn lacked in the balance does not use up the limits of others', async (store) => {
    const hold = await holdOf(store)
    await toNextMonth(store, 5_000)
    const bench = await Bench.make(store, plenty, 0)
    await setLimits(bench, limitOf('end_user', 2n * hold))
    const lacking = await bench.admitted()
    await bench.fail(lacking, 'released', { code: 'insufficient_balance', neededHold: 5n * hold })
    const turn = await bench.admitted({ externalUserId: user })
    assert.equal(turn.hold, hold)
    // Where it fits in the limit, it is held.
    await setLimits(bench, limitOf('end_user', 5n * hold))
    assert.equal((await bench.admitted({ externalUserId: 'bob' })).hold, 5n * hold)
    // In one batch, too.
    await setLimits(bench, limitOf('agent', 9n * hold), limitOf('end_user', plenty))
    const users = ['dan', 'eve', 'fay', 'gus', 'hal', 'ida']
    const outcomes = await store.admitMany(users.map((externalUserId) => bench.admission({ externalUserId })))
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.kind === 'admitted' ? outcome.turn.hold / hold : outcome.kind)),
      [5n, 1n, 1n, 1n, 1n, 'spend_limit_exceeded'],
    )
    await bench.verify()
  })

  check('billing.spend-limit: a limit that is lowered below what is spent refuses new turns and changes nothing else', async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, plenty, 0)
    await setLimits(bench, limitOf('agent', 3n * hold))
    const [first, second] = [await bench.admitted(), await bench.admitted()]
    await payAll(bench, first)
    await setLimits(bench, limitOf('agent', 1n))
    assert.equal(await kindOf(bench), 'spend_limit_exceeded')
    await payAll(bench, second)
    await setLimits(bench, limitOf('agent', 3n * hold))
    await payAll(bench, await bench.admitted())
    assert.equal(await kindOf(bench), 'spend_limit_exceeded')
    await bench.verify()
  })

  check('billing.spend-limit: of a thousand turns at once on a limit for 137, exactly those that fit are admitted', async (store) => {
    const hold = await holdOf(store)
    for (const scope of spendScopes) {
      const bench = await Bench.make(store, plenty, 0)
      await setLimits(bench, limitOf(scope, 138n * hold - 1n), limitOf('agent', plenty, 'total'))
      const keys = [bench]
      if (scope === 'end_user') while (keys.length < 1000) keys.push(await bench.anotherKey())
      const admissions = Array.from({ length: 1000 }, (_, index) =>
        keys[index % keys.length]!.admission(scope === 'end_user' ? { externalUserId: user } : {}),
      )
      const outcomes = (
        await Promise.all(Array.from({ length: 16 }, (_, n) => store.admitMany(admissions.filter((__, index) => index % 16 === n))))
      ).flat()
      const turns = outcomes.flatMap((outcome) => (outcome.kind === 'admitted' ? [outcome.turn] : []))
      assert.equal(turns.length, 137, scope)
      assert.equal(outcomes.filter(({ kind }) => kind === 'spend_limit_exceeded').length, 1000 - 137)
      await store.settleMany(turns.map((turn) => bench.settlement(turn, { ...atMost, charged: hold })))
      assert.deepEqual((await spendingOf(bench))['agent total'], [137n * hold, 0n, 0n])
      await bench.verify()
    }
  })

  check('billing.spend-limit: in one batch, each agent, key and end user has its own windows', async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, plenty, 0)
    const [other, second] = [await bench.another(), await bench.anotherKey()]
    for (const one of [bench, other])
      await setLimits(one, limitOf('end_user', hold), limitOf('api_key', 2n * hold), limitOf('agent', 3n * hold))
    const own = [limitOf('end_user', 2n * hold)]
    await store.write.putEndUserLimits({ agentId: bench.agentId, externalUserId: 'bob', limits: own })
    const asked = [
      [bench, user, 'admitted'],
      [other, user, 'admitted'],
      [second, user, 'spend_limit_exceeded'],
      [second, 'bob', 'admitted'],
      [other, 'cid', 'admitted'],
      [bench, 'bob', 'admitted'],
      [other, 'dan', 'spend_limit_exceeded'],
      [second, 'eve', 'spend_limit_exceeded'],
    ] as const
    const outcomes = await store.admitMany(asked.map(([through, externalUserId]) => through.admission({ externalUserId })))
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      asked.map(([, , kind]) => kind),
    )
    assert.deepEqual((await spendingOf(bench, 'bob'))['end_user day'], [0n, 2n * hold, 0n])
    assert.deepEqual((await spendingOf(bench))['agent day'], [0n, 3n * hold, 0n])
    assert.deepEqual((await spendingOf(other))['agent day'], [0n, 2n * hold, 0n])
    await bench.verify()
  })

  check('billing.spend-limit: in one batch, one user of two agents and two keys of one agent share no window', async (store) => {
    const hold = await holdOf(store)
    const bench = await Bench.make(store, plenty, 0)
    const [other, keyed] = [await bench.another(), await bench.another()]
    for (const one of [bench, other]) await setLimits(one, limitOf('end_user', 2n * hold))
    await setLimits(keyed, limitOf('api_key', 2n * hold))
    for (const two of [
      [bench, other],
      [keyed, await keyed.anotherKey()],
    ] as const) {
      const messages = () => two.map((one) => one.admission({ externalUserId: two[1] === other ? user : one.apiKeyId }))
      // A window that has a row, and room for one more turn.
      for (const [index, message] of messages().entries()) await payAll(two[index]!, await two[index]!.admitted(message))
      assert.deepEqual(
        (await store.admitMany(messages())).map(({ kind }) => kind),
        ['admitted', 'admitted'],
      )
    }
    await bench.verify()
  })

  check(
    'billing.spend-limit erase: an erasure removes the name of the end user from its limits and windows, and keeps the figures',
    async (store) => {
      const bench = await Bench.make(store, plenty, 0)
      const { agentId } = bench
      const externalUserId = `named-${randomUUID()}`
      await setLimits(bench, limitOf('end_user', plenty), limitOf('agent', plenty))
      const second = await bench.anotherKey()
      const turns = [await bench.admitted({ externalUserId }), await second.admitted({ externalUserId })]
      for (const turn of turns) await bench.settle(turn)
      await store.write.putEndUserLimits({ agentId, externalUserId, limits: [limitOf('end_user', plenty)] })
      const erase = (conversationIds: string[], endUser?: { agentId: string; externalUserId: string }) =>
        store.write.eraseConversations({ conversationIds, endUser })
      assert.equal((await erase([turns[0]!.conversationId, turns[0]!.conversationId])).kind, 'erased')
      assert.deepEqual((await spendingOf(bench, externalUserId))['end_user day'], [1200n, 0n, 0n], 'another key still has a conversation')
      assert.ok(await store.read.findEndUserLimits({ agentId, externalUserId }))
      assert.equal((await erase([turns[1]!.conversationId])).kind, 'erased')
      assert.deepEqual((await spendingOf(bench, externalUserId))['end_user day'], [0n, 0n, 0n])
      assert.equal(await store.read.findEndUserLimits({ agentId, externalUserId }), undefined)
      assert.deepEqual((await spendingOf(bench, externalUserId))['agent day'], [1200n, 0n, 0n])
      // Limits of a user without a conversation.
      await store.write.putEndUserLimits({ agentId, externalUserId, limits: [limitOf('end_user', 1n)] })
      await erase([], { agentId, externalUserId })
      assert.equal(await store.read.findEndUserLimits({ agentId, externalUserId }), undefined)
      await bench.settle(await bench.admitted({ externalUserId }))
      assert.deepEqual((await spendingOf(bench, externalUserId))['end_user day'], [600n, 0n, 0n])
      await bench.verify()
    },
  )

  check(
    'billing.spend-limit: after any turns, ends, limits and times, no window is above its limit and each is the sum of its turns',
    async (store) => {
      const hold = await holdOf(store)
      const operation = fc.oneof(
        fc.record({
          does: fc.constantFrom('reply', 'failure', 'free text', 'extend'),
          part: fc.integer({ min: 1, max: 4 }),
          of: fc.nat(2),
        }),
        fc.record({ does: fc.constant('limit' as const), part: fc.integer({ min: 0, max: 8 }), of: fc.nat(8) }),
        fc.record({ does: fc.constant('pass' as const), part: fc.constantFrom(1, 30), of: fc.constant(0) }),
      )
      const property = fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
        const bench = await Bench.make(store, plenty, 0)
        const limits = new Map<string, NewSpendLimit>()
        const open: AdmittedTurn[] = []
        for (const { does, part, of } of operations) {
          if (does === 'pass') await store.moveClock(part * dayMs)
          else if (does === 'limit') {
            const [scope, span] = [spendScopes[of % 3]!, spendSpans[Math.floor(of / 3)]!]
            if (part === 0) limits.delete(`${scope} ${span}`)
            else limits.set(`${scope} ${span}`, limitOf(scope, BigInt(part) * hold, span))
            await setLimits(bench, ...limits.values())
          } else {
            const outcome = await bench.admit({ externalUserId: `user-${of}` })
            if (outcome.kind === 'admitted') open.push(outcome.turn)
            const turn = open.shift()
            if (!turn) continue
            const unpaid = hold / BigInt(part)
            if (does === 'extend') {
              await bench.advance(turn, { hold: turn.hold + unpaid })
              open.push(turn)
            } else if (does === 'reply') await bench.settle(turn)
            else await bench.fail(turn, 'released', { unpaid, causeKind: does === 'failure' ? 'provider_503' : 'step_limit' })
          }
        }
        await bench.verify()
      })
      await fc.assert(property, { numRuns: 15 })
    },
  )
}
