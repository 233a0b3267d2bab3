/** What every store must do for cancels and feedback (`turn.cancel`, `feedback`), case by case; each backend's test file runs all of it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { replyFinishReasons } from '../../src/finish-reason.ts'
import type { GivenFeedback } from '../../src/store/queries/feedback.ts'
import { Bench } from './conformance.ts'
import type { Check } from './conformance.ts'

const firstPage = { limit: 100, before: { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }
const good: GivenFeedback = { rating: 'up', comment: null, tags: [] }

const cancelled = { state: 'cancelled', code: 'turn_cancelled', causeKind: null } as const

export function turnResourceConformance(check: Check): void {
  check('turn.finish-reason: is stored with the reply, read with it everywhere, and refused without one', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admissions = replyFinishReasons.map(() => bench.admission())
    const settled: string[] = []
    // One batch, so that the reasons of several are in one call.
    const turns = await Promise.all(admissions.map((admission) => bench.admitted(admission)))
    const items = turns.map((turn, index) => bench.settlement(turn, { finishReason: replyFinishReasons[index]! }))
    for (const outcome of await store.settleMany(items)) {
      assert.ok(outcome.kind === 'settled')
      settled.push(String(outcome.reply.finishReason))
    }
    assert.deepEqual(settled, [...replyFinishReasons])
    for (const [index, { requestId, conversationId }] of turns.entries()) {
      const reason = replyFinishReasons[index]!
      const [again] = await store.admitMany([admissions[index]!])
      assert.ok(again!.kind === 'replay')
      const message = (await store.read.listAllMessages({ ...firstPage, before: { ...firstPage.before, id: '' }, conversationId }))!
        .items[0]!
      assert.deepEqual(
        [
          again!.reply.finishReason,
          (await store.read.findTurn(requestId))!.finishReason,
          (await store.read.findTurnStatus(requestId))!.reply!.finishReason,
          (await store.read.findReplies([requestId])).get(requestId)!.finishReason,
          message.turn.finishReason,
          message.cutOff,
        ],
        [reason, reason, reason, reason, reason, reason === 'length' || reason === 'filtered'],
      )
    }
    const cancelled = await bench.admitted()
    await store.write.requestCancel({ requestId: cancelled.requestId })
    assert.equal((await bench.settle(cancelled, { incomplete: true })).kind, 'settled')
    assert.equal((await store.read.findTurn(cancelled.requestId))!.finishReason, null)
    await bench.verify()
  })

  check(
    'turn.cancel: a request is stored while the turn runs, keeps its first time, and is listed until the turn has ended',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const turn = await bench.admitted()
      const other = await bench.admitted()
      const { requestId } = turn
      assert.equal(await store.write.requestCancel({ requestId: randomUUID() }), undefined)
      assert.deepEqual(await store.read.listCancelRequests(), [])
      assert.ok(await store.write.requestCancel({ requestId }))
      const { cancelRequestedAt } = (await store.read.findTurn(requestId))!
      assert.ok(cancelRequestedAt !== null)
      await store.moveClock(1_000)
      assert.ok(await store.write.requestCancel({ requestId }))
      assert.equal((await store.read.findTurn(requestId))!.cancelRequestedAt, cancelRequestedAt)
      assert.deepEqual(await store.read.listCancelRequests(), [{ requestId, run: 1 }])

      assert.equal((await bench.fail(turn, 'failed', cancelled)).kind, 'ended')
      assert.deepEqual(await store.read.listCancelRequests(), [])
      assert.equal(await store.write.requestCancel({ requestId }), undefined, 'a turn that has ended')
      assert.equal((await bench.settle(other)).kind, 'settled')
      assert.equal(await store.write.requestCancel({ requestId: other.requestId }), undefined)
      assert.equal((await store.read.findTurn(other.requestId))!.cancelRequestedAt, null)
      await bench.verify()
    },
  )

  check('turn.cancel: a cancel by an author has one audit line for each request that found the turn running', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    const lines = async () => await store.read.listAudit({ noun: 'turn' }, firstPage)
    const cancel = () =>
      store
        .writeAs({ who: 'admin_token', requestId: 'the-request', entryIds: [`aud_${randomUUID()}`] })
        .requestCancel({ requestId: turn.requestId })
    assert.equal(await cancel(), 1)
    await bench.fail(turn, 'failed', cancelled)
    assert.equal(await cancel(), undefined)
    assert.deepEqual(
      (await lines()).map(({ verb, subjectId, requestId }) => [verb, subjectId, requestId]),
      [['cancel', turn.requestId, 'the-request']],
    )
  })

  check('turn.cancel turn.errors: a cancelled turn is final, has no error, and counts as cancelled in the usage', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission()
    const turn = await bench.admitted(admission)
    await store.write.requestCancel({ requestId: turn.requestId })
    await bench.fail(turn, 'failed', { ...cancelled, unpaid: 7n })
    const again = await bench.admit({ ...admission, requestId: randomUUID() })
    assert.deepEqual(again, { kind: 'replayed_failure', requestId: turn.requestId, code: 'turn_cancelled' })
    const now = await store.read.storeTime()
    const { totals } = await store.read.usageByBucket({ from: 0, to: now + 1, bucketMs: now + 1 })
    assert.deepEqual([totals.turns, totals.cancelled, totals.failed, totals.errors, totals.unpaid], [1, 1, 0, 0, 7n])
    await bench.verify()
  })

  check('feedback: is stored for an ended turn of the key that started it, and for no other', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const stranger = await bench.another()
    const turn = await bench.admitted()
    const { requestId } = turn
    const put = (apiKeyId: string | undefined = bench.apiKeyId, of = requestId) =>
      store.write.putFeedback({ requestId: of, apiKeyId, ...good })
    assert.equal(await put(), undefined, 'the turn is running')
    await bench.fail(turn, 'failed')
    assert.equal(await put(stranger.apiKeyId), undefined)
    assert.equal(await put(bench.apiKeyId, randomUUID()), undefined)
    assert.equal(await store.read.findFeedback(requestId), undefined)
    const given = await put()
    assert.deepEqual(given, { ...good, requestId, createdAt: given!.createdAt, updatedAt: given!.createdAt })
    assert.deepEqual(await store.read.findFeedback(requestId), given)
    await bench.verify()
  })

  check('feedback: the last one counts, also of 20 at the same time, and the time of the first one is kept', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    await bench.settle(turn)
    const put = (feedback: GivenFeedback) => store.write.putFeedback({ requestId: turn.requestId, apiKeyId: bench.apiKeyId, ...feedback })
    const first = await put({ rating: 'down', comment: 'first', tags: ['a', 'b'] })
    await store.moveClock(1_000)
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put({ rating: n % 2 === 0 ? 'up' : 'down', comment: `${n}`, tags: [`tag ${n}`] })),
    )
    const stored = (await store.read.findFeedback(turn.requestId))!
    // One of them as a whole, and no mixture of two.
    const same = many.find((one) => one!.comment === stored.comment)
    assert.deepEqual([same!.rating, same!.tags, same!.createdAt], [stored.rating, stored.tags, first!.createdAt])
    assert.equal((await store.read.listFeedback({}, firstPage)).length, 1)
    await store.moveClock(1_000)
    const last = await put({ rating: 'up', comment: null, tags: [] })
    assert.deepEqual([last!.rating, last!.comment, last!.tags, last!.createdAt], ['up', null, [], first!.createdAt])
    assert.ok(last!.updatedAt >= stored.updatedAt + 1_000)
    assert.deepEqual(await store.read.findFeedback(turn.requestId), last)
    await bench.verify()
  })

  check('feedback: an operator sets it on a turn of any key, and removes it; the audit log has the rating and no text', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    const { requestId } = turn
    const entryIds: string[] = []
    const write = () => {
      entryIds.push(`aud_${randomUUID()}`)
      return store.writeAs({ who: 'admin_token', requestId: 'r', entryIds: entryIds.slice(-1) })
    }
    const put = (feedback: GivenFeedback) => write().putFeedback({ requestId, apiKeyId: undefined, ...feedback })
    const bad: GivenFeedback = { rating: 'down', comment: 'secret words', tags: ['secret tag'] }
    assert.equal(await put(good), undefined, 'the turn is running')
    await bench.settle(turn)
    assert.equal(await write().removeFeedback(requestId), 'none')
    assert.equal(await write().removeFeedback(randomUUID()), 'not_found')
    const first = await put(good)
    assert.ok(first, 'it is stored')
    await store.moveClock(1_000)
    assert.deepEqual(await put(good), first, 'the same again changes nothing')
    const second = (await put(bad))!
    assert.deepEqual([second.rating, second.comment, second.createdAt], ['down', 'secret words', first.createdAt])
    assert.ok(second.updatedAt > first.updatedAt)
    await put({ ...bad, comment: 'other words' })
    await put({ ...bad, comment: null })
    assert.equal(await write().removeFeedback(requestId), 'removed')
    assert.equal(await store.read.findFeedback(requestId), undefined)
    assert.equal(await write().removeFeedback(requestId), 'none')
    const entries = await store.read.listAudit({ noun: 'turn' }, firstPage)
    const rating = (before: string | null, after: string | null) => ({ 'feedback.rating': { before, after } })
    assert.deepEqual(
      entries
        .toSorted((a, b) => entryIds.indexOf(a.id) - entryIds.indexOf(b.id))
        .map(({ verb, subjectId, fields, changes }) => [verb, subjectId, fields, changes]),
      [
        ['change', requestId, ['feedback.rating'], rating(null, 'up')],
        ['change', requestId, ['feedback.rating', 'feedback.comment', 'feedback.tags'], rating('up', 'down')],
        ['change', requestId, ['feedback.comment'], null],
        ['change', requestId, ['feedback.comment'], null],
        ['change', requestId, ['feedback.rating', 'feedback.tags'], rating('down', null)],
      ],
    )
    await bench.verify()
  })

  check('feedback: of a removal and 20 others at the same time, one is the last, and verify finds nothing', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    await bench.settle(turn)
    const { requestId } = turn
    const put = (comment: string) => store.write.putFeedback({ requestId, apiKeyId: bench.apiKeyId, ...good, comment })
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? put(`${n}`) : store.write.removeFeedback(requestId))),
    )
    assert.ok(outcomes.every((outcome) => outcome !== undefined && outcome !== 'not_found'))
    const last = await put('last')
    assert.deepEqual(await store.read.findFeedback(requestId), last)
    await bench.verify()
  })

  check('feedback: the list has filters and pages, the newest change first', async (store) => {
    const bench = await Bench.make(store, 10_000_000n)
    const other = await bench.another()
    const ids: string[] = []
    async function give(of: Bench, feedback: GivenFeedback): Promise<void> {
      const turn = await of.admitted()
      await of.settle(turn)
      await store.write.putFeedback({ requestId: turn.requestId, apiKeyId: of.apiKeyId, ...feedback })
      ids.push(turn.requestId)
      await store.moveClock(1)
    }
    await give(bench, { rating: 'up', comment: 'a "quote" and 😀', tags: ['fast', 'kind'] })
    await give(other, { rating: 'down', comment: null, tags: ['wrong', '%', `it's "x"?`] })
    await give(bench, { rating: 'down', comment: null, tags: [] })
    const [one, two, three] = ids as [string, string, string]
    const found = async (filter: Parameters<typeof store.read.listFeedback>[0], page = firstPage) =>
      (await store.read.listFeedback(filter, page)).map(({ requestId }) => requestId)
    assert.deepEqual(await found({}), [three, two, one])
    assert.deepEqual(await found({ agentId: bench.agentId }), [three, one])
    assert.deepEqual(await found({ agentId: bench.agentId, rating: 'up' }), [one])
    assert.deepEqual(await found({ rating: 'down' }), [three, two])
    for (const tag of ['wrong', '%', `it's "x"?`]) assert.deepEqual(await found({ tag }), [two], tag)
    for (const tag of ['wron', 'rating', 'a', '']) assert.deepEqual(await found({ tag }), [], tag)
    const [first] = await store.read.listFeedback({}, { ...firstPage, limit: 1 })
    assert.deepEqual(await found({}, { limit: 1, before: { createdAt: first!.updatedAt, id: first!.requestId } }), [two])
    const [shown] = await store.read.listFeedback({ rating: 'up' }, firstPage)
    assert.deepEqual(
      [shown!.agentId, shown!.apiKeyId, shown!.state, shown!.comment, shown!.tags],
      [bench.agentId, bench.apiKeyId, 'completed', 'a "quote" and 😀', ['fast', 'kind']],
    )
  })

  check(
    'feedback: erased with its conversation, and never stored for an erased turn, also if both happen at the same time',
    async (store) => {
      const bench = await Bench.make(store, 10_000_000n)
      for (let round = 0; round < 5; round++) {
        const turn = await bench.admitted()
        await bench.settle(turn)
        const wanted = { requestId: turn.requestId, apiKeyId: bench.apiKeyId }
        await store.write.putFeedback({ ...wanted, ...good, comment: 'before' })
        await Promise.all([
          store.write.putFeedback({ ...wanted, ...good, comment: 'meanwhile' }),
          store.write.eraseConversations({ conversationIds: [turn.conversationId] }),
          store.write.putFeedback({ ...wanted, ...good, comment: 'meanwhile too' }),
        ])
        assert.equal(await store.read.findFeedback(turn.requestId), undefined)
        assert.equal(await store.write.putFeedback({ ...wanted, ...good }), undefined)
      }
      assert.deepEqual(await store.read.listFeedback({}, firstPage), [])
      await bench.verify()
    },
  )
}
