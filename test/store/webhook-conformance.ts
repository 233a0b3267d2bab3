/** What every store must do for webhooks: the outbox, claims and replays, case by case; each backend's test file runs all of it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { GivenWebhook } from '../../src/resources/webhook.ts'
import type { AttemptResult, ClaimedDelivery } from '../../src/store/queries/webhooks/deliveries.ts'
import type { NewWebhook } from '../../src/store/queries/webhooks/webhooks.ts'
import { Bench } from './conformance.ts'
import type { Check, TestStore } from './conformance.ts'

const firstPage = { limit: 100, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }
const leaseMs = 30_000

/** Its events count from the next millisecond on. */
async function createWebhook(store: TestStore, given: Partial<NewWebhook> = {}): Promise<string> {
  const id = `whk_${randomUUID().slice(0, 8)}`
  const whole: Omit<NewWebhook, 'sealedSecret'> = {
    id,
    url: 'https://hooks.example/',
    events: ['*'],
    ownerId: null,
    agentId: null,
    description: null,
    includeMessages: false,
  }
  const outcome = await store.write.createWebhook({ ...whole, sealedSecret: Uint8Array.of(1), ...given })
  assert.equal(outcome.kind, 'stored')
  return id
}

export async function makeWebhook(store: TestStore, given: Partial<NewWebhook> = {}): Promise<string> {
  const id = await createWebhook(store, given)
  await store.moveClock(2)
  return id
}

export const listDeliveries = async (store: TestStore, webhookId: string) =>
  (await store.read.listDeliveries({ webhookId }, firstPage)).map(({ id }) => id)
const empty = { mediaType: null, fileName: null, contentId: null, sha256: null }
const sorted = (texts: string[]): string[] => texts.toSorted()
const claim = (store: TestStore, webhookId: string, limit = 100) => store.write.claimDeliveries({ wanted: [{ webhookId, limit }], leaseMs })
const ended = ({ eventId, webhookId, fence }: ClaimedDelivery, result: AttemptResult) => ({
  eventId,
  webhookId,
  fence,
  result,
  status: result.kind === 'delivered' ? 200 : 500,
  error: null,
})

export function webhookConformance(check: Check): void {
  check('webhook.once: each end of a run is one event, recorded with it, and none is recorded without a webhook', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const before = await bench.admitted()
    await bench.settle(before)
    const id = await makeWebhook(store)
    const none = await makeWebhook(store, { events: ['document.ready'] })
    const [completed, failed, cancelled] = [await bench.admitted(), await bench.admitted(), await bench.admitted()]
    const settlement = bench.settlement(completed)
    await store.settleMany([settlement])
    // Sent again after a lost answer.
    await store.settleMany([settlement])
    await bench.fail(failed, 'failed')
    await bench.cancel(cancelled)
    const admission = bench.admission()
    const released = await bench.admitted(admission)
    await bench.fail(released, 'released')
    const again = await bench.admitted({ ...admission, requestId: randomUUID() })
    await bench.fail(again, 'released')
    const third = await bench.admitted({ ...admission, requestId: randomUUID() })
    await bench.settle(third)
    const expected = [
      `evt_${completed.requestId}_turn_completed`,
      `evt_${failed.requestId}_turn_failed`,
      `evt_${cancelled.requestId}_turn_cancelled`,
      `evt_${released.requestId}_1_turn_released`,
      `evt_${released.requestId}_2_turn_released`,
      `evt_${released.requestId}_turn_completed`,
    ]
    assert.deepEqual(sorted(await listDeliveries(store, id)), sorted(expected))
    assert.deepEqual(await listDeliveries(store, none), [])
    await bench.verify()
  })

  check('webhook.once: a turn whose processes died in each attempt is one failed event', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store)
    const turn = await bench.admitted()
    for (const which of ['fresh', 'suspect', 'suspect'] as const) {
      await store.moveClock(60_000)
      await store.claimOrphans({ which, limit: 10, leaseMs: 15_000, running: [] })
    }
    assert.deepEqual(await listDeliveries(store, id), [`evt_${turn.requestId}_turn_failed`])
    await bench.verify()
  })

  check('webhook.once: only the events, the owner and the agent of a webhook are recorded for it', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const other = await bench.another()
    const stranger = await Bench.make(store, 1_000_000n)
    const ids = {
      ofOwner: await makeWebhook(store, { ownerId: bench.ownerId }),
      ofAgent: await makeWebhook(store, { agentId: other.agentId }),
      failures: await makeWebhook(store, { events: ['turn.failed', 'turn.released'] }),
    }
    const turns = [await bench.admitted(), await other.admitted(), await stranger.admitted()]
    for (const turn of turns.slice(0, 2)) await bench.settle(turn)
    await bench.fail(turns[2]!, 'failed')
    const [own, others, strangers] = turns.map(({ requestId }) => requestId)
    assert.deepEqual(
      sorted(await listDeliveries(store, ids.ofOwner)),
      sorted([`evt_${own}_turn_completed`, `evt_${others}_turn_completed`]),
    )
    assert.deepEqual(await listDeliveries(store, ids.ofAgent), [`evt_${others}_turn_completed`])
    assert.deepEqual(await listDeliveries(store, ids.failures), [`evt_${strangers}_turn_failed`])
    await bench.verify()
  })

  check('webhook.once: webhooks that are created and changed while turns end miss no later event', async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    const turns = await Promise.all(Array.from({ length: 60 }, () => bench.admitted()))
    const settled = turns.map(async (turn, n) => {
      await new Promise((resolve) => setTimeout(resolve, n))
      await bench.settle(turn)
    })
    const changed = Array.from({ length: 8 }, async (_, n) => {
      await new Promise((resolve) => setTimeout(resolve, n * 7))
      const id = await createWebhook(store)
      await store.write.changeWebhook(id, { events: ['turn.completed'] })
      await store.write.changeWebhook(id, { enabled: n % 2 === 0 })
    })
    await Promise.all([...settled, ...changed])
    await bench.verify()
  })

  check('webhook.once: a webhook gets nothing while it is disabled, and everything from then on when it is enabled', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store)
    assert.equal(await store.write.disableWebhook(id, '410'), true)
    assert.equal(await store.write.disableWebhook(id, '410'), false)
    assert.equal((await store.read.findWebhook(id))!.disabledReason, '410')
    await bench.settle(await bench.admitted())
    assert.deepEqual(await listDeliveries(store, id), [])
    await store.write.changeWebhook(id, { enabled: true })
    assert.equal((await store.read.findWebhook(id))!.disabledReason, null)
    await store.moveClock(2)
    const turn = await bench.admitted()
    await bench.settle(turn)
    assert.deepEqual(await listDeliveries(store, id), [`evt_${turn.requestId}_turn_completed`])
    await bench.verify()
  })

  check('balance.low balance.exhausted: once for each crossing, and once until the next credit', async (store) => {
    const bench = await Bench.make(store, 100_000n)
    const credit = (amount: bigint) =>
      store.write.appendLedgerEntry({
        id: `led_${randomUUID()}`,
        ownerId: bench.ownerId,
        idempotencyKey: randomUUID(),
        amount,
        note: null,
        maxBalance: 10n ** 15n,
      })
    const id = await makeWebhook(store, { events: ['balance.low', 'balance.exhausted'] })
    const types = async () => sorted((await store.read.listDeliveries({ webhookId: id }, firstPage)).map(({ type }) => type))
    await store.write.changeOwner(bench.ownerId, { lowBalance: 99_000n })
    const spend = async (charged: bigint) => bench.settle(await bench.admitted(), { charged, writtenOff: 600n - charged })
    await spend(600n)
    assert.deepEqual(await types(), [])
    await spend(600n)
    await spend(600n)
    assert.deepEqual(await types(), ['balance.low'])
    await credit(10_000n)
    await credit(-10_000n)
    assert.deepEqual(await types(), ['balance.low', 'balance.low'], 'an adjustment crosses it, too')
    await credit(10_000n)
    await store.write.changeOwner(bench.ownerId, { lowBalance: (await bench.money()).balance })
    const cancelled = await bench.admitted()
    await store.write.requestCancel({ requestId: cancelled.requestId })
    const charge = { ledgerEntryId: `led_${randomUUID()}`, toolCalls: 1n, charged: 1n, writtenOff: 0n }
    await bench.fail(cancelled, 'cancelled', { code: 'turn_cancelled', causeKind: null, charge })
    assert.equal((await types()).length, 3, 'so do the tool calls of a cancelled turn')
    await store.write.changeOwner(bench.ownerId, { lowBalance: null })
    const exhausted = async () => (await types()).filter((type) => type === 'balance.exhausted').length
    const turn = await bench.admitted()
    await bench.settle(turn)
    const leave = async (amount: bigint) => credit(amount - (await bench.money()).balance)
    await leave(turn.hold + 601n)
    await spend(600n)
    assert.equal(await exhausted(), 0, 'the balance covers one more')
    await spend(600n)
    assert.equal(await exhausted(), 1)
    await leave(turn.hold)
    await spend(0n)
    await spend(1n)
    assert.equal(await exhausted(), 2, 'after a credit it counts again')
    await leave(turn.hold + 5n)
    await leave(turn.hold)
    await spend(1n)
    assert.equal(await exhausted(), 3)
    await bench.verify()
  })

  check('billing.tool-price: the event of a cancelled turn that pays only its tool calls has their charge', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store, { events: ['turn.cancelled'] })
    const turn = await bench.admitted()
    await store.write.requestCancel({ requestId: turn.requestId })
    const charge = { ledgerEntryId: `led_${randomUUID()}`, toolCalls: 30n, charged: 30n, writtenOff: 0n }
    await bench.fail(turn, 'cancelled', { code: 'turn_cancelled', causeKind: null, charge })
    const { events } = await store.read.readEvents(await listDeliveries(store, id))
    const [event] = events
    assert.ok(event?.data.kind === 'turn')
    assert.deepEqual(event.data.turn.usage, { promptTokens: 0, completionTokens: 0, charged: 30n, estimated: false })
    await bench.verify()
  })

  check('webhook.once feedback.created: once for a turn, whatever feedback follows', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store, { events: ['feedback.created'] })
    const turn = await bench.admitted()
    await bench.settle(turn)
    const put = (rating: 'up' | 'down') =>
      store.write.putFeedback({ requestId: turn.requestId, apiKeyId: bench.apiKeyId, rating, comment: 'secret words', tags: [] })
    await put('up')
    await put('down')
    assert.deepEqual(await listDeliveries(store, id), [`evt_${turn.requestId}_feedback_created`])
    await store.moveClock(31 * 24 * 60 * 60 * 1000)
    assert.equal(await store.write.clearEvents({ limit: 10 }), 1)
    await put('up')
    assert.deepEqual(await listDeliveries(store, id), [], 'not again when the event of the first one is deleted')
    await bench.verify()
  })

  check('document.ready document.failed: each end of an indexing is one event', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store, { agentId: bench.agentId })
    const document = { documentId: 'doc_1', agentId: bench.agentId, title: 't', text: 'words', chunks: [{ headings: '', text: 'words' }] }
    await store.write.indexDocument(document)
    await store.write.indexDocument(document)
    assert.deepEqual(sorted(await listDeliveries(store, id)), ['evt_doc_1_1_document_ready', 'evt_doc_1_3_document_ready'])
    const given = {
      id: 'doc_2',
      agentId: bench.agentId,
      title: 't',
      bytes: 0,
      source: 'url',
      url: 'https://shop.example/',
      ...empty,
    } as const
    assert.equal(await store.write.putDocument(given), 'put')
    const claimed = (await store.write.claimDocument({ holder: 'h', leaseMs }))!
    assert.equal(await store.write.failDocument({ documentId: 'doc_2', fence: claimed.fence, reason: 'r' }), true)
    assert.ok((await listDeliveries(store, id)).includes('evt_doc_2_1_document_failed'))
    await bench.verify()
  })

  check(
    'webhook.delivered: a due delivery is claimed by one of several, again when its lease has ended, and the fence refuses the first',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const id = await makeWebhook(store)
      for (let n = 0; n < 5; n++) await bench.settle(await bench.admitted())
      const both = await Promise.all([claim(store, id, 3), claim(store, id, 3), claim(store, id, 3)])
      const first = both.flat()
      assert.equal(first.length, 5)
      assert.equal(new Set(first.map(({ eventId }) => eventId)).size, 5)
      assert.deepEqual(await claim(store, id), [])
      await store.write.endAttempts([ended(first[0]!, { kind: 'delivered' })])
      await store.moveClock(leaseMs)
      const second = await claim(store, id)
      assert.equal(second.length, 4)
      assert.ok(second.every(({ attempt }) => attempt === 1))
      await store.write.endAttempts(first.map((one) => ended(one, { kind: 'failed' })))
      const states = async () => (await store.read.listDeliveries({ webhookId: id }, firstPage)).map(({ state }) => state).toSorted()
      assert.deepEqual(
        await states(),
        ['delivered', 'pending', 'pending', 'pending', 'pending'],
        'the results of the lost claims are refused',
      )
      await store.write.endAttempts([
        ended(second[0]!, { kind: 'delivered' }),
        ended(second[1]!, { kind: 'failed' }),
        ended(second[2]!, { kind: 'again', inMs: 5_000 }),
        ended(second[3]!, { kind: 'released' }),
      ])
      assert.deepEqual(await states(), ['delivered', 'delivered', 'failed', 'pending', 'pending'])
      const released = await claim(store, id)
      assert.deepEqual(
        released.map(({ eventId, attempt }) => [eventId, attempt]),
        [[second[3]!.eventId, 1]],
        'what a shutdown cut off is due at once and does not count',
      )
      await store.moveClock(5_000)
      assert.deepEqual(
        (await claim(store, id)).map(({ eventId, attempt }) => [eventId, attempt]),
        [[second[2]!.eventId, 2]],
      )
      await bench.verify()
    },
  )

  check(
    'webhook.delivered: an attempt counts when its result is stored, so a process that dies does not use up the schedule',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const id = await makeWebhook(store)
      await bench.settle(await bench.admitted())
      const attempts = async () => (await store.read.listDeliveries({ webhookId: id }, firstPage)).map((delivery) => delivery.attempts)
      for (let death = 0; death < 12; death++) {
        assert.deepEqual(
          (await claim(store, id)).map(({ attempt }) => attempt),
          [1],
        )
        assert.deepEqual(await attempts(), [0])
        await store.moveClock(leaseMs)
      }
      const [last] = await claim(store, id)
      await store.write.endAttempts([ended(last!, { kind: 'again', inMs: 5_000 })])
      assert.deepEqual(await attempts(), [1])
      await store.moveClock(5_000)
      const [second] = await claim(store, id)
      assert.equal(second!.attempt, 2)
      await store.write.endAttempts([ended(second!, { kind: 'delivered' })])
      assert.deepEqual(await attempts(), [2])
      await bench.verify()
    },
  )

  check('webhook.delivered: nothing is claimed of a webhook that is disabled or deleted', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const [id, gone] = [await makeWebhook(store), await makeWebhook(store)]
    await bench.settle(await bench.admitted())
    await store.write.changeWebhook(id, { enabled: false })
    assert.equal(await store.write.deleteWebhook(gone), true)
    assert.equal(await store.write.deleteWebhook(gone), false)
    assert.deepEqual([...(await claim(store, id)), ...(await claim(store, gone))], [])
    assert.deepEqual((await store.read.listDueWebhooks()).webhooks, [])
    assert.deepEqual(await store.read.deliveryBacklog(), { pending: 0, oldestDueMs: 0 })
    await store.write.changeWebhook(id, { enabled: true })
    assert.equal((await claim(store, id)).length, 1, 'what was pending waited')
    await bench.verify()
  })

  check('webhook.replay: sends a range again under the same IDs, also what no webhook was there for', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const early = await bench.admitted()
    await bench.settle(early)
    const admission = bench.admission()
    const twice = await bench.admitted(admission)
    await bench.fail(twice, 'released')
    await bench.fail(await bench.admitted({ ...admission, requestId: randomUUID() }), 'failed')
    const id = await makeWebhook(store, { agentId: bench.agentId })
    const from = (await store.read.storeTime()) - 60_000
    const turn = await bench.admitted()
    await bench.settle(turn)
    const [claimed] = await claim(store, id)
    await store.write.endAttempts([ended(claimed!, { kind: 'delivered' })])
    await store.moveClock(2)
    const to = await store.read.storeTime()
    assert.deepEqual(await store.write.replayDeliveries({ webhookId: id, from, to }), { kind: 'replayed', deliveries: 4 })
    const all = [
      `evt_${early.requestId}_turn_completed`,
      `evt_${twice.requestId}_1_turn_released`,
      `evt_${twice.requestId}_turn_failed`,
      `evt_${turn.requestId}_turn_completed`,
    ]
    assert.deepEqual(sorted((await claim(store, id)).map(({ eventId }) => eventId)), sorted(all))
    assert.deepEqual(await store.write.replayDeliveries({ webhookId: 'whk_x', from, to }), { kind: 'not_found' })
    assert.deepEqual(await store.write.replayDeliveries({ webhookId: id, from: 0, to }), { kind: 'too_old' })
    await bench.verify()
  })

  check('webhook.replay: a delivery that has ended is due again, with the whole schedule and the same ID', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store)
    await bench.settle(await bench.admitted())
    const [claimed] = await claim(store, id)
    await store.write.endAttempts([ended(claimed!, { kind: 'failed' })])
    const retried = await store.write.retryDelivery({ webhookId: id, eventId: claimed!.eventId })
    assert.ok(retried.kind === 'retried')
    assert.deepEqual([retried.delivery.state, retried.delivery.attempts], ['pending', 0])
    const [again] = await claim(store, id)
    assert.deepEqual([again!.eventId, again!.attempt], [claimed!.eventId, 1])
    assert.deepEqual(await store.write.retryDelivery({ webhookId: id, eventId: 'evt_x' }), { kind: 'not_found' })
    await bench.verify()
  })

  check(
    'operator.scope: what is pending of another owner or agent is not sent after a webhook was restricted, nor sent again',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const [other, stranger] = [await bench.another(), await Bench.make(store, 1_000_000n)]
      const id = await makeWebhook(store, { url: 'https://before.example/' })
      const turns = [await bench.admitted(), await other.admitted(), await stranger.admitted()]
      for (const turn of turns) await bench.settle(turn)
      const [own, others, strangers] = turns.map(({ requestId }) => `evt_${requestId}_turn_completed`)
      const [first] = await claim(store, id, 1)
      assert.equal(first!.webhook.url, 'https://before.example/')
      await store.write.changeWebhook(id, { ownerId: bench.ownerId, url: 'https://after.example/', includeMessages: true })
      // What was claimed before is sent to the earlier address. If it fails, it is tried again only if the webhook is still for it.
      await store.write.endAttempts([ended(first!, { kind: 'again', inMs: 0 })])
      const claimed = await claim(store, id)
      assert.deepEqual(sorted(claimed.map(({ eventId }) => eventId)), sorted([own!, others!]))
      for (const { webhook } of claimed) assert.deepEqual([webhook.url, webhook.includeMessages], ['https://after.example/', true])
      await store.write.endAttempts(claimed.map((one) => ended(one, { kind: 'again', inMs: 0 })))
      await store.write.changeWebhook(id, { agentId: bench.agentId })
      assert.deepEqual(
        (await claim(store, id)).map(({ eventId }) => eventId),
        [own],
      )
      const listed = await store.read.listDeliveries({ webhookId: id, state: 'failed' }, firstPage)
      assert.deepEqual(sorted(listed.map(({ id: eventId }) => eventId)), sorted([others!, strangers!]))
      for (const { id: eventId, lastError } of listed) {
        assert.match(lastError!, /no longer for the owner or the agent/)
        assert.deepEqual(await store.write.retryDelivery({ webhookId: id, eventId }), { kind: 'of_another' })
      }
      assert.equal((await store.write.retryDelivery({ webhookId: id, eventId: own! })).kind, 'retried')
      await bench.verify()
    },
  )

  check('operator.scope: one owner cannot use up the webhooks of all', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const within = { ownerId: bench.ownerId, agentId: null }
    const given: GivenWebhook = {
      url: 'https://own.example/',
      events: ['*'],
      ownerId: bench.ownerId,
      agentId: null,
      description: null,
      includeMessages: false,
    }
    const create = (n: number, scope?: typeof within) =>
      store.write.createWebhook({ ...given, id: `whk_${bench.ownerId}_${n}`, sealedSecret: Uint8Array.of(1) }, scope)
    for (let n = 0; n < 10; n++) assert.equal((await create(n, within)).kind, 'stored')
    assert.deepEqual(await create(10, within), { kind: 'too_many', limit: 10 })
    for (let n = 10; n < 100; n++) assert.equal((await create(n)).kind, 'stored')
    assert.deepEqual(await create(100), { kind: 'too_many', limit: 100 })
  })

  check('webhook.once: events and deliveries are deleted after 30 days, and not before', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store)
    await bench.settle(await bench.admitted())
    await store.moveClock(29 * 24 * 60 * 60 * 1000)
    assert.equal(await store.write.clearEvents({ limit: 10 }), 0)
    await store.moveClock(24 * 60 * 60 * 1000)
    assert.equal(await store.write.clearEvents({ limit: 10 }), 1)
    assert.equal(await store.write.clearEvents({ limit: 10 }), 0)
    assert.deepEqual(await listDeliveries(store, id), [])
    await bench.verify()
  })

  check('webhook.once: the list of deliveries has pages and a filter, newest first', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const id = await makeWebhook(store)
    for (let n = 0; n < 5; n++) {
      await store.moveClock(1)
      await bench.settle(await bench.admitted())
    }
    const [one, two] = await claim(store, id, 2)
    await store.write.endAttempts([ended(one!, { kind: 'delivered' }), ended(two!, { kind: 'failed' })])
    const all = await store.read.listDeliveries({ webhookId: id }, firstPage)
    assert.deepEqual(
      all.map(({ createdAt }) => createdAt),
      all.map(({ createdAt }) => createdAt).toSorted((a, b) => b - a),
    )
    const third = all[2]!
    const rest = await store.read.listDeliveries({ webhookId: id }, { limit: 2, before: { createdAt: third.createdAt, id: third.id } })
    assert.deepEqual(rest, all.slice(3))
    for (const state of ['delivered', 'failed', 'pending'] as const)
      assert.deepEqual(
        await store.read.listDeliveries({ webhookId: id, state }, firstPage),
        all.filter((delivery) => delivery.state === state),
      )
  })
}
