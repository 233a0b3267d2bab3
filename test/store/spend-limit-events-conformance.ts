/**
 * What every store must do when a window of a spend limit reaches a threshold: one event for each limit, window and threshold, recorded by
 * the transaction that reaches it (`webhook.once`). Part of the conformance suite (conformance.ts).
 */
import assert from 'node:assert/strict'
import { spendScopes } from '../../src/spend-limits.ts'
import type { Webhook } from '../../src/resources/webhook.ts'
import type { ReachedLimit } from '../../src/store/queries/webhooks/event-data.ts'
import { Bench } from './conformance.ts'
import type { Check, TestStore } from './conformance.ts'
import { setLimits } from './spend-limit-conformance.ts'
import { listDeliveries, makeWebhook } from './webhook-conformance.ts'

const dayMs = 24 * 60 * 60 * 1000
const plenty = 10n ** 12n
const user = 'ann'
/** The usage that a hold covers. */
const atMost = { promptTokens: 63, completionTokens: 100 }
const events: Webhook['events'] = ['spend_limit.reached']

/** What webhooks are notified of, as `scope percent of limit`, sorted. */
async function reached(store: TestStore, webhookId: string): Promise<string[]> {
  const { events: records } = await store.read.readEvents(await listDeliveries(store, webhookId))
  return records.map(({ data }) => lineOf(data.kind === 'spend_limit' ? data.reached : undefined)).toSorted()
}

function lineOf(limit: ReachedLimit | undefined): string {
  assert.ok(limit)
  return `${limit.scope} ${limit.thresholdPercent} of ${limit.limit}`
}

const pay = async (bench: Bench, charged: bigint, externalUserId = user): Promise<void> => {
  const turn = await bench.admitted({ externalUserId })
  const outcome = await bench.settle(turn, { ...atMost, charged, writtenOff: turn.hold - charged })
  assert.equal(outcome.kind, 'settled')
}

export function spendLimitEventsConformance(check: Check): void {
  check(
    'webhook.once spend_limit.reached: a charge that brings a window to 50, 80 or 100 percent is one event, and nothing is recorded without a webhook',
    async (store) => {
      const bench = await Bench.make(store, plenty, 0)
      const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
      const limit = 10n * hold
      await setLimits(bench, ...spendScopes.map((scope) => ({ scope, span: 'total' as const, amount: limit })))
      await pay(bench, hold, 'before')
      const id = await makeWebhook(store, { events })
      const other = await makeWebhook(store, { events: ['document.ready'] })
      const stranger = await makeWebhook(store, { events, agentId: (await bench.another()).agentId })
      for (let paid = 0; paid < 4; paid++) await pay(bench, hold)
      const of = (...percents: [string, number[]][]) =>
        percents.flatMap(([scope, list]) => list.map((percent) => `${scope} ${percent} of ${limit}`)).toSorted()
      assert.deepEqual(await reached(store, id), of(['agent', [50]], ['api_key', [50]]))
      await pay(bench, hold - 1n)
      assert.deepEqual(await reached(store, id), of(['agent', [50]], ['api_key', [50]]), 'one unit is missing for the end user')
      for (let paid = 0; paid < 3; paid++) await pay(bench, hold)
      assert.deepEqual(await reached(store, id), of(['agent', [50, 80]], ['api_key', [50, 80]], ['end_user', [50]]))
      // A turn without a reply whose end a caller can trigger.
      await bench.fail(await bench.admitted({ externalUserId: user }), 'failed', { unpaid: 1n, causeKind: 'step_limit' })
      assert.deepEqual(await reached(store, id), of(['agent', [50, 80]], ['api_key', [50, 80]], ['end_user', [50, 80]]))
      assert.deepEqual([await reached(store, other), await reached(store, stranger)], [[], []])
      await bench.verify()
    },
  )

  check(
    'webhook.once spend_limit.reached: the first turn that the rest does not cover is the last threshold, unless only the holds of other turns are in its way',
    async (store) => {
      const bench = await Bench.make(store, plenty, 0)
      const id = await makeWebhook(store, { events })
      const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
      await setLimits(bench, { scope: 'agent', span: 'day', amount: 2n * hold - 1n })
      const turn = await bench.admitted()
      assert.equal((await bench.admit()).kind, 'spend_limit_exceeded')
      assert.deepEqual(await reached(store, id), [], 'what the running turn holds comes back')
      assert.equal((await bench.advance(turn, { hold: 2n * hold - 1n })).kind, 'advanced')
      await bench.settle(turn, { ...atMost, charged: 1n, writtenOff: hold - 1n })
      assert.deepEqual(await reached(store, id), [])
      await pay(bench, hold - 2n)
      assert.deepEqual(await reached(store, id), [], 'one unit is missing to half of the limit')
      await setLimits(bench, { scope: 'agent', span: 'day', amount: 2n * hold - 2n })
      for (let refused = 0; refused < 3; refused++) assert.equal((await bench.admit()).kind, 'spend_limit_exceeded')
      assert.deepEqual(await reached(store, id), [`agent 100 of ${2n * hold - 2n}`, `agent 50 of ${2n * hold - 2n}`])
      // The next step of a turn.
      await setLimits(bench, { scope: 'agent', span: 'day', amount: 3n * hold })
      const next = await bench.admitted()
      assert.equal((await bench.advance(next, { hold: 2n * hold + 2n })).kind, 'spend_limit_exceeded')
      await bench.fail(next, 'released', { code: 'spend_limit_exceeded', causeKind: 'spend_limit_exceeded' })
      assert.equal((await reached(store, id)).filter((line) => line === `agent 100 of ${3n * hold}`).length, 1)
      await bench.verify()
    },
  )

  check(
    'webhook.once spend_limit.reached: once for each limit of a window, also if it is lowered and raised, and not again when the event is deleted',
    async (store) => {
      const bench = await Bench.make(store, plenty, 0)
      const id = await makeWebhook(store, { events })
      const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
      const limitTo = (amount: bigint) => setLimits(bench, { scope: 'end_user', span: 'total', amount })
      await limitTo(10n * hold)
      for (let paid = 0; paid < 5; paid++) await pay(bench, hold)
      await limitTo(20n * hold)
      await pay(bench, hold)
      assert.deepEqual(await reached(store, id), [`end_user 50 of ${10n * hold}`], 'six of twenty are below half')
      await limitTo(7n * hold)
      await pay(bench, 1n)
      const lowered = [`end_user 50 of ${7n * hold}`, `end_user 80 of ${7n * hold}`]
      const first = `end_user 50 of ${10n * hold}`
      assert.deepEqual(await reached(store, id), [first, ...lowered].toSorted())
      assert.equal((await bench.admit({ externalUserId: user })).kind, 'spend_limit_exceeded')
      assert.deepEqual(await reached(store, id), [first, ...lowered, `end_user 100 of ${7n * hold}`].toSorted())
      await bench.verify()
      await store.moveClock(30 * dayMs)
      while ((await store.write.clearEvents({ limit: 100 })) > 0) continue
      assert.deepEqual(await reached(store, id), [])
      assert.equal((await bench.admit({ externalUserId: user })).kind, 'spend_limit_exceeded')
      assert.deepEqual(await reached(store, id), [], 'the window still is the same')
      await bench.verify()
    },
  )

  check(
    'webhook.once spend_limit.reached: a refusal reports the windows that refuse, and the next end those whose limit was lowered meanwhile',
    async (store) => {
      const bench = await Bench.make(store, plenty, 0)
      const id = await makeWebhook(store, { events })
      const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
      const ofUser = 2n * hold - 1n
      const limitTo = (amount: bigint) =>
        setLimits(bench, { scope: 'agent', span: 'total', amount }, { scope: 'end_user', span: 'total', amount: ofUser })
      await limitTo(4n * hold)
      await pay(bench, hold)
      await pay(bench, hold, 'another')
      const before = [`agent 50 of ${4n * hold}`, ...['50', '50'].map((percent) => `end_user ${percent} of ${ofUser}`)]
      assert.deepEqual(await reached(store, id), before.toSorted())
      await limitTo(4n * hold - 1n)
      assert.equal((await bench.admit({ externalUserId: user })).kind, 'spend_limit_exceeded')
      const refused = `end_user 100 of ${ofUser}`
      assert.deepEqual(await reached(store, id), [...before, refused].toSorted(), 'the agent has room for the turn')
      await bench.verify()
      await pay(bench, 0n, 'a third')
      assert.deepEqual(await reached(store, id), [...before, refused, `agent 50 of ${4n * hold - 1n}`].toSorted())
      await bench.verify()
    },
  )

  check('webhook.once spend_limit.reached: of many charges at once, each threshold is one event', async (store) => {
    const bench = await Bench.make(store, plenty, 0)
    const id = await makeWebhook(store, { events })
    const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
    await setLimits(bench, ...spendScopes.map((scope) => ({ scope, span: 'month' as const, amount: 100n * hold })))
    const keys = [bench]
    while (keys.length < 100) keys.push(await bench.anotherKey())
    const turns = await Promise.all(keys.map((key) => key.admitted({ externalUserId: user })))
    const settlements = turns.map((turn) => bench.settlement(turn, { ...atMost, charged: hold }))
    await Promise.all(Array.from({ length: 25 }, (_, n) => store.settleMany(settlements.slice(4 * n, 4 * n + 4))))
    const expected = ['agent', 'end_user'].flatMap((scope) => [50, 80, 100].map((percent) => `${scope} ${percent} of ${100n * hold}`))
    assert.deepEqual(await reached(store, id), expected.toSorted())
    await bench.verify()
  })

  check('webhook.messages spend_limit.reached: after an erasure, the event has no name of the end user', async (store) => {
    const bench = await Bench.make(store, plenty, 0)
    const id = await makeWebhook(store, { events })
    const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
    await setLimits(bench, { scope: 'end_user', span: 'day', amount: 2n * hold })
    const turn = await bench.admitted({ externalUserId: user })
    await bench.settle(turn, { ...atMost, charged: hold })
    const data = async () => (await store.read.readEvents(await listDeliveries(store, id))).events[0]!.data
    const before = await data()
    assert.ok(before.kind === 'spend_limit')
    assert.deepEqual([before.reached.subject, before.reached.thresholdPercent, before.reached.spent], [user, 50, hold])
    await store.write.eraseConversations({ conversationIds: [turn.conversationId] })
    const after = await data()
    assert.ok(after.kind === 'spend_limit')
    assert.deepEqual([after.reached.subject, after.reached.spent], [null, hold])
    await bench.verify()
  })
}
