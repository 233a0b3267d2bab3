/**
 * What every store must do with token kinds and tool prices: they are stored with the charge, what is impossible is refused by a constraint,
 * and only a cancelled turn is charged without a reply (`billing.token-kinds`, `billing.tool-price`). Part of the conformance suite.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AdmittedTurn, Settlement } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'
import type { Check } from './conformance.ts'

const never = 1_000_000n
// 10⁻⁸ USD per million tokens, so that a charge is easy to compute.
const price = {
  promptPerMillion: 4_000_000n,
  completionPerMillion: 6_000_000n,
  cachedPromptPerMillion: 1_000_000n,
  cacheWritePerMillion: 5_000_000n,
}
const kinds = { promptTokens: 20, cachedPromptTokens: 9, cacheWriteTokens: 2, completionTokens: 5, reasoningTokens: 3 }
const tokensCost = 9n * 4n + 9n * 1n + 2n * 5n + 5n * 6n

async function priced(store: Bench['store']): Promise<Bench> {
  const bench = await Bench.make(store, never)
  await bench.revise({ price })
  return bench
}

const requestCancel = async ({ store }: Bench, { requestId }: AdmittedTurn): Promise<void> =>
  assert.ok(await store.write.requestCancel({ requestId }))

const cancelling = (bench: Bench, turn: AdmittedTurn, toolCalls: bigint, charged = toolCalls) =>
  bench.fail(turn, 'cancelled', {
    code: 'turn_cancelled',
    causeKind: null,
    unpaid: 7n,
    charge: { ledgerEntryId: `led_${randomUUID()}`, toolCalls, charged, writtenOff: toolCalls - charged },
  })

export function priceConformance(check: Check): void {
  check(
    'billing.token-kinds: an admission has all prices and holds at the dearest one, and a settlement stores all kinds',
    async (store) => {
      const bench = await priced(store)
      const turn = await bench.admitted()
      assert.deepEqual(turn.price, price)
      const plain = await Bench.make(store, never)
      await plain.revise({ price: { ...price, cachedPromptPerMillion: null, cacheWritePerMillion: null, promptPerMillion: 5_000_000n } })
      assert.equal(turn.hold, (await plain.admitted()).hold, 'the dearest price of a prompt token is that of a cache write')
      assert.equal((await bench.settle(turn, { ...kinds, toolCalls: 11n, charged: tokensCost + 11n })).kind, 'settled')
      const stored = (await store.read.findTurn(turn.requestId))!
      assert.deepEqual(stored.price, price)
      assert.deepEqual(stored.usage, { ...kinds, toolCalls: 11n, estimated: false, charged: tokensCost + 11n, writtenOff: 0n })
      const { usage } = (await store.read.findTurnStatus(turn.requestId))!
      const { promptTokens, completionTokens, charged } = stored.usage!
      const own = { promptTokens, completionTokens, charged }
      assert.deepEqual(usage, { ...own, cachedPromptTokens: 9, cacheWriteTokens: 2, reasoningTokens: 3, toolCalls: 11n })
      await bench.verify()
    },
  )

  check(
    'billing.token-kinds billing.once: impossible kinds, a charge above the hold and a negative price are refused by the store',
    async (store) => {
      const bench = await priced(store)
      const refused: Record<string, (turn: AdmittedTurn) => Partial<Settlement>> = {
        'more cached tokens than prompt tokens': () => ({ cachedPromptTokens: 19 }),
        'a negative cache write': () => ({ cacheWriteTokens: -1 }),
        'more reasoning than completion': () => ({ reasoningTokens: 6 }),
        'tool calls that cost less than nothing': () => ({ toolCalls: -1n }),
        'a charge above the hold': ({ hold }) => ({ charged: hold + 1n }),
      }
      for (const [what, changes] of Object.entries(refused)) {
        const turn = await bench.admitted()
        const outcome = await bench.settle(turn, { ...kinds, charged: tokensCost, ...changes(turn) })
        assert.equal(outcome.kind, 'error', what)
        assert.equal((await bench.settle(turn, { ...kinds, charged: tokensCost })).kind, 'settled', `${what}: the turn is as it was`)
      }
      await bench.verify()
    },
  )

  check(
    'billing.tool-price turn.cancel: a cancelled turn is charged for its tool calls once; its hold is released, and what it used besides is unpaid',
    async (store) => {
      const bench = await priced(store)
      const { balance } = await bench.money()
      const turn = await bench.admitted()
      await requestCancel(bench, turn)
      assert.equal((await cancelling(bench, turn, 30n)).kind, 'ended')
      assert.deepEqual(await bench.money(), { balance: balance - 30n, held: 0n })
      assert.equal((await store.read.findOwner(bench.ownerId))!.unpaid, 7n)
      assert.notEqual((await cancelling(bench, turn, 30n)).kind, 'error', 'a repeated one is not another charge')
      assert.equal((await bench.money()).balance, balance - 30n)
      const stored = (await store.read.findTurn(turn.requestId))!
      assert.deepEqual([stored.state, stored.usage?.toolCalls, stored.usage?.charged], ['cancelled', 30n, 30n])
      const limited = await bench.admitted()
      await requestCancel(bench, limited)
      assert.equal((await cancelling(bench, limited, limited.hold + 5n, limited.hold)).kind, 'ended')
      assert.equal((await store.read.findOwner(bench.ownerId))!.unpaid, 7n, 'nothing of the hold is left for it')
      await bench.verify()
    },
  )

  check(
    'billing.tool-price: a turn that fails or is released is never charged, and a cancel charges no more than the hold',
    async (store) => {
      const bench = await priced(store)
      for (const state of ['failed', 'released'] as const) {
        const turn = await bench.admitted()
        const charge = { ledgerEntryId: `led_${randomUUID()}`, toolCalls: 5n, charged: 5n, writtenOff: 0n }
        assert.equal((await bench.fail(turn, state, { charge })).kind, 'error', state)
        assert.equal((await bench.fail(turn, state)).kind, 'ended')
      }
      const turn = await bench.admitted()
      await requestCancel(bench, turn)
      assert.equal((await cancelling(bench, turn, turn.hold + 1n)).kind, 'error')
      assert.equal((await cancelling(bench, turn, 1n)).kind, 'ended')
      await bench.verify()
    },
  )

  check(
    'billing.tool-price turn.cancel: of a reply and a cancel with a charge at the same time, one happens, and there is one charge',
    async (store) => {
      const bench = await priced(store)
      for (let n = 0; n < 20; n++) {
        const turn = await bench.admitted()
        await requestCancel(bench, turn)
        const ends = [() => bench.settle(turn, { ...kinds, toolCalls: 3n, charged: tokensCost + 3n }), () => cancelling(bench, turn, 3n)]
        const outcomes = await Promise.all((n % 2 ? ends : ends.toReversed()).map((end) => end()))
        assert.deepEqual(
          outcomes.map(({ kind }) => kind).filter((kind) => kind === 'lost').length,
          1,
          JSON.stringify(outcomes.map(({ kind }) => kind)),
        )
      }
      await bench.verify()
    },
  )
}
