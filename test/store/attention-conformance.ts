/** What every store must list as what needs attention, case by case; each backend's test file runs all of it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Attention } from '../../src/store/queries/attention.ts'
import type { AttemptResult } from '../../src/store/queries/webhooks/deliveries.ts'
import type { Within } from '../../src/store/queries/scope.ts'
import { Bench } from './conformance.ts'
import type { Check, TestStore } from './conformance.ts'
import { setLimits } from './spend-limit-conformance.ts'
import { makeWebhook } from './webhook-conformance.ts'

type Kind = Attention['kind']
const ofKind = async <K extends Kind>(store: TestStore, kind: K, within?: Within): Promise<Extract<Attention, { kind: K }>[]> =>
  (await store.read.listAttention({ within })).filter((one): one is Extract<Attention, { kind: K }> => one.kind === kind)

const hourMs = 60 * 60 * 1000
const plenty = 10n ** 12n

export function attentionConformance(check: Check): void {
  check('attention: a document that failed, until it is replaced or its agent deleted, and only within the scope', async (store) => {
    const [bench, other] = [await Bench.make(store, plenty), await Bench.make(store, plenty)]
    const fail = async ({ agentId }: Bench): Promise<string> => {
      const id = `doc_${randomUUID().slice(0, 8)}`
      const given = { id, agentId, title: 'Handbook', source: 'url' as const, mediaType: null, fileName: null, url: 'u', bytes: 0 }
      assert.equal(await store.write.putDocument({ ...given, contentId: null }), 'put')
      const claimed = (await store.write.claimDocument({ holder: 'h', leaseMs: 30_000 }))!
      assert.ok(await store.write.failDocument({ documentId: id, fence: claimed.fence, reason: 'It cannot be read.' }))
      return id
    }
    const [own, others] = [await fail(bench), await fail(other)]
    const idsOf = async (within?: Within): Promise<string[]> =>
      (await ofKind(store, 'document', within)).map(({ documentId }) => documentId).toSorted()
    assert.deepEqual(await idsOf(), [own, others].toSorted())
    const [found] = await ofKind(store, 'document', { ownerId: bench.ownerId, agentId: bench.agentId })
    const { since, ...shown } = found!
    const named = { agentId: bench.agentId, documentId: own, title: 'Handbook', reason: 'It cannot be read.' }
    assert.deepEqual(shown, { kind: 'document', ...named })
    assert.equal(since, (await store.read.findDocument(bench.agentId, own))!.updatedAt)
    assert.deepEqual(await idsOf({ ownerId: other.ownerId, agentId: null }), [others])
    assert.deepEqual(await idsOf({ ownerId: other.ownerId, agentId: bench.agentId }), [])
    await store.write.deleteAgent(other.agentId)
    await store.write.deleteDocument({ agentId: bench.agentId, id: own })
    assert.deepEqual(await idsOf(), [])
  })

  check(
    'attention: the present windows with 80 percent of the present limit used, most first, of agents, keys and end users',
    async (store) => {
      const { hold } = await (await Bench.make(store, plenty, 0)).admitted()
      // Not at the end of a window.
      const now = await store.read.storeTime()
      await store.moveClock(24 * hourMs - (now % (24 * hourMs)) + hourMs)
      const bench = await Bench.make(store, plenty, 0)
      const limit = (scope: 'agent' | 'api_key' | 'end_user', amount: bigint) => ({ scope, span: 'day' as const, amount })
      await setLimits(bench, limit('agent', hold * 10n), limit('api_key', (hold * 5n) / 4n), limit('end_user', hold))
      const shown = async (within?: Within): Promise<string[]> =>
        (await ofKind(store, 'spend_limit', within)).map(
          ({ scope, subject, held, limit: of }) => `${scope} ${subject} ${(held * 100n) / of}`,
        )
      assert.deepEqual(await shown(), [])
      await bench.admitted({ externalUserId: 'ann' })
      assert.deepEqual(await shown(), ['end_user ann 100', `api_key ${bench.apiKeyId} 80`])
      assert.deepEqual(await shown({ ownerId: bench.ownerId, agentId: null }), await shown())
      assert.deepEqual(await shown({ ownerId: 'own_other', agentId: null }), [])
      assert.deepEqual(await shown({ ownerId: bench.ownerId, agentId: 'agt_other' }), [])
      // Of the agent, the end users that are closest to their limit are listed with it.
      const listed = (await store.read.listSpending(bench.agentId))!.filter(({ scope }) => scope === 'end_user')
      assert.deepEqual(
        listed.map(({ subject, held, limit: of }) => [subject, held, of]),
        [['ann', hold, hold]],
      )
      // The present limit counts, not that of the last message.
      const own = { agentId: bench.agentId, externalUserId: 'ann' }
      await store.write.putEndUserLimits({ ...own, limits: [limit('end_user', hold * 2n)] })
      assert.deepEqual(await shown(), [`api_key ${bench.apiKeyId} 80`])
      assert.equal((await store.read.listSpending(bench.agentId))!.find(({ scope }) => scope === 'end_user')!.limit, hold * 2n)
      await setLimits(bench, limit('agent', hold), limit('api_key', hold * 2n), limit('end_user', hold))
      assert.deepEqual(await shown(), [`agent ${bench.agentId} 100`])
      await store.write.deleteEndUserLimits(own)
      assert.deepEqual(await shown(), [`agent ${bench.agentId} 100`, 'end_user ann 100'])
      await setLimits(bench)
      assert.deepEqual(await shown(), [], 'without a limit')
      // The next window is empty.
      await store.moveClock(24 * hourMs)
      assert.deepEqual(await shown(), [])
    },
  )

  check('attention: a webhook whose last deliveries failed or wait for another attempt, and one that was disabled', async (store) => {
    const bench = await Bench.make(store, plenty)
    const id = await makeWebhook(store, { ownerId: bench.ownerId })
    const attempt = async (result: AttemptResult, error: string | null): Promise<void> => {
      await bench.settle(await bench.admitted())
      for (const { eventId, webhookId, fence } of await store.write.claimDeliveries({
        wanted: [{ webhookId: id, limit: 9 }],
        leaseMs: 30_000,
      }))
        await store.write.endAttempts([{ eventId, webhookId, fence, result, status: error ? 503 : 200, error }])
      await store.moveClock(2)
    }
    const shown = async (within?: Within) =>
      (await ofKind(store, 'webhook', within)).map(({ webhookId, deliveries, reason, isDisabled }) => [
        webhookId,
        deliveries,
        reason,
        isDisabled,
      ])
    await attempt({ kind: 'delivered' }, null)
    assert.deepEqual(await shown(), [])
    const before = await store.read.storeTime()
    await attempt({ kind: 'failed' }, 'the endpoint answered 503')
    assert.deepEqual(await shown(), [[id, 1, 'the endpoint answered 503', false]])
    assert.ok((await ofKind(store, 'webhook'))[0]!.since >= before)
    await attempt({ kind: 'again', inMs: hourMs }, 'timeout')
    assert.equal((await shown())[0]![1], 2)
    await store.moveClock(hourMs)
    const wanted = [{ webhookId: id, limit: 9 }]
    const [running] = await store.write.claimDeliveries({ wanted, leaseMs: 30_000 })
    assert.equal((await shown())[0]![1], 2, 'also while the next attempt runs')
    await store.write.endAttempts([{ ...running!, result: { kind: 'again', inMs: hourMs }, status: 503, error: 'timeout' }])
    assert.deepEqual(await shown({ ownerId: bench.ownerId, agentId: null }), [[id, 2, 'the endpoint answered 503', false]])
    assert.deepEqual(await shown({ ownerId: 'own_other', agentId: null }), [])
    // A later success: what failed before it does not matter, what waits still does.
    await attempt({ kind: 'delivered' }, null)
    assert.deepEqual(await shown(), [[id, 1, 'timeout', false]])
    // For another owner now: that one does not see what was for the previous one.
    const next = await Bench.make(store, plenty)
    await store.write.changeWebhook(id, { ownerId: next.ownerId })
    assert.deepEqual(await shown({ ownerId: next.ownerId, agentId: null }), [])
    await store.write.disableWebhook(id, 'the endpoint answered 410')
    assert.deepEqual(await shown(), [[id, 0, 'the endpoint answered 410', true]], 'what was pending of the previous owner has ended')
    // Disabled by the operator.
    await store.write.changeWebhook(id, { enabled: true })
    await store.write.changeWebhook(id, { enabled: false })
    assert.deepEqual(await shown(), [])
  })
}
