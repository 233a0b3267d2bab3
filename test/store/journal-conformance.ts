/**
 * What every store must do with the steps of a turn: they are journaled in batches with their holds, once each, and returned to the run
 * that continues them. Part of the conformance suite (conformance.ts).
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AdmittedTurn, JournalEntry } from '../../src/store/turn-records.ts'
import { Bench } from './conformance.ts'
import type { Check } from './conformance.ts'
import { plainPrice } from '../support/token-kinds.ts'

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
const leaseMs = 15_000
const page = { limit: 100, before: { createdAt: 2 ** 52, id: '' } }

const entry = (kind: JournalEntry['kind'], step: number, part: number, payload = '{}'): JournalEntry => ({ step, part, kind, payload })
/** A step with one tool call. */
const stepOf = (step: number, payload = '{}'): JournalEntry[] => [
  entry('model', step, 0, payload),
  entry('tool_started', step, 1, payload),
  entry('tool_finished', step, 1, payload),
]
const kindsOf = (outcomes: { kind: string }[]): string[] => outcomes.map(({ kind }) => kind)
const places = (journal: JournalEntry[]): string[] => journal.map(({ step, part, kind }) => `${step}.${part} ${kind}`)

async function stepsOf({ store }: Bench, turn: AdmittedTurn) {
  return (await store.read.findTurn(turn.requestId))!.steps
}

/** What recovery receives for this turn, once its lease has expired. */
async function claimed({ store }: Bench, { requestId }: AdmittedTurn): Promise<AdmittedTurn> {
  // A claim skips a turn that another transaction is writing at that moment.
  for (let tries = 0; tries < 1000; tries++) {
    for (const which of ['fresh', 'suspect'] as const) {
      const { turns } = await store.claimOrphans({ which, limit: 100, leaseMs, running: [] })
      const turn = turns.find((one) => one.requestId === requestId)
      if (turn) return turn
    }
  }
  throw new Error('it could not be claimed')
}

/**
 * The process whose lease has expired and the one that claims its turn both journal the end of one tool call. `newer` returns what was
 * stored; both fixtures belong to one agent.
 */
export async function raceForOneFinish(older: Bench, newer: Bench): Promise<'older' | 'newer'> {
  const turn = await older.admitted()
  const finish = (payload: string) => ({ entries: [entry('tool_finished', 1, 1, payload)], finishedSideEffects: true })
  await older.store.releaseLeases([turn])
  const [late, next] = await Promise.all([
    older.advance(turn, finish('"older"')),
    claimed(newer, turn).then(async (found) => ({ found, reported: await newer.advance(found, finish('"newer"')) })),
  ])
  const { found, reported } = next
  assert.equal(reported.kind, 'advanced')
  const finishes = await stepsOf(newer, turn)
  assert.deepEqual(
    finishes.map(({ payload }) => payload),
    [late.kind === 'advanced' ? '"older"' : '"newer"'],
  )
  assert.equal(late.kind === 'advanced' || late.kind === 'lost', true, late.kind)
  assert.equal(found.journal.length, late.kind === 'advanced' ? 1 : 0, 'a claim knows every finish that was confirmed as stored')
  assert.equal((await newer.settle(found)).kind, 'settled')
  return late.kind === 'advanced' ? 'older' : 'newer'
}

export function journalConformance(check: Check): void {
  check('billing.hold: a batch of advances succeeds and fails item by item, up to the last unit of each balance', async (store) => {
    const probe = await (await Bench.make(store, 1_000_000n)).admitted()
    const [bench, other] = [await Bench.make(store, 4n * probe.hold + 100n), await Bench.make(store, probe.hold + 50n)]
    const [a, b, c, d] = [await bench.admitted(), await bench.admitted(), await bench.admitted(), await bench.admitted()]
    const e = await other.admitted()
    const item = (of: Bench, turn: AdmittedTurn, more: bigint, changes = {}) =>
      of.advancing(turn, { entries: stepOf(1), hold: turn.hold + more, finishedSideEffects: true, ...changes })
    const outcomes = await store.advanceMany([
      item(bench, a, 60n),
      item(bench, b, 41n),
      item(other, e, 50n),
      item(bench, c, 40n),
      item(bench, d, 0n, { fence: d.fence + 1 }),
    ])
    assert.deepEqual(kindsOf(outcomes), ['advanced', 'insufficient_balance', 'advanced', 'advanced', 'lost'])
    assert.deepEqual(await bench.money(), { balance: 4n * probe.hold + 100n, held: 4n * probe.hold + 100n })
    assert.equal((await other.money()).held, probe.hold + 50n)
    for (const turn of [b, d]) assert.deepEqual(await stepsOf(bench, turn), [], 'nothing of it is stored')
    for (const turn of [a, c]) assert.equal((await stepsOf(bench, turn)).length, 3)
    assert.deepEqual(kindsOf(await store.advanceMany([item(bench, d, 1n), item(bench, b, 0n)])), ['insufficient_balance', 'advanced'])
    // A failed turn is not continued.
    await bench.fail(d, 'released')
    assert.equal((await store.read.findTurn(d.requestId))!.state, 'released')
    await bench.verify()
  })

  check('billing.hold: concurrent advances of sixty-four turns are each journaled and held for', async (store) => {
    const bench = await Bench.make(store, 10n ** 9n)
    const admissions = Array.from({ length: 64 }, () => bench.admission())
    const turns = (await store.admitMany(admissions)).map((outcome) => {
      assert.ok(outcome.kind === 'admitted', outcome.kind)
      return outcome.turn
    })
    const before = (await bench.money()).held
    const items = turns.map((turn, index) => bench.advancing(turn, { entries: stepOf(1, `${index}`), hold: turn.hold + BigInt(index) }))
    assert.deepEqual(new Set(kindsOf(await store.advanceMany(items))), new Set(['advanced']))
    assert.equal((await bench.money()).held, before + BigInt((64 * 63) / 2))
    await store.releaseLeases(turns)
    const claims = await store.claimOrphans({ which: 'fresh', limit: 64, leaseMs, running: [] })
    const expected = turns.map(({ requestId, hold }, index) => ({ requestId, hold: hold + BigInt(index), journal: stepOf(1, `${index}`) }))
    const byId = <Item extends { requestId: string }>(items: Item[]): Item[] =>
      items.toSorted((one, two) => (one.requestId < two.requestId ? -1 : 1))
    assert.deepEqual(
      byId(claims.turns).map(({ requestId, hold, journal }) => ({ requestId, hold, journal })),
      byId(expected),
    )
    await bench.verify()
  })

  check('billing.hold: a repeated advance returns the same and stores nothing twice, also twice in a batch', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    const item = bench.advancing(turn, { entries: stepOf(1, '"first"'), hold: turn.hold + 7n })
    assert.deepEqual(kindsOf(await store.advanceMany([item, item])), ['advanced', 'advanced'])
    assert.deepEqual(await store.advanceMany([item]), [{ kind: 'advanced' }])
    assert.equal((await bench.money()).held, turn.hold + 7n, 'held once')
    const more = [...stepOf(1, '"second"'), entry('tool_finished', 1, 2)]
    assert.equal((await bench.advance(turn, { entries: more, hold: turn.hold })).kind, 'advanced')
    assert.equal((await bench.money()).held, turn.hold + 7n, 'a hold never gets smaller')
    await store.releaseLeases([turn])
    const next = await claimed(bench, turn)
    assert.deepEqual(next.journal, [...stepOf(1, '"first"'), entry('tool_finished', 1, 2)])
    assert.equal((await bench.advance(next, { entries: stepOf(1, '"third"') })).kind, 'advanced', 'under a later fence')
    assert.deepEqual(await store.advanceMany([item]), [{ kind: 'lost' }], 'under an earlier one')
    assert.equal((await stepsOf(bench, turn)).length, 4)
    await bench.verify()
  })

  check('retry.continues: a finished side effect keeps version, price, window and journal for the retry', async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    await bench.settle(await bench.admitted({ externalUserId: 'ann' }))
    const admission = bench.admission({ externalUserId: 'ann' })
    const first = await bench.admitted(admission)
    const [model, started, finished] = stepOf(1)
    await bench.advance(first, { entries: [model!, started!] })
    await bench.advance(first, { entries: [finished!], finishedSideEffects: true })
    await bench.fail(first, 'released')
    // A price, a window and a length that would each be noticed.
    const dearer = plainPrice(first.price.promptPerMillion * 3n, first.price.completionPerMillion * 3n)
    await bench.revise({ price: dearer, historyMaxTokens: 0, maxMessageLength: 1 })

    await store.write.changeAgent({ id: bench.agentId, enabled: false })
    assert.equal((await bench.admit(admission)).kind, 'agent_disabled', 'it passes the rest of the admission as any other')
    await store.write.changeAgent({ id: bench.agentId, enabled: true })
    const again = await bench.admitted({ ...admission, requestId: randomUUID(), conversationId: 'conv_unused' })
    const { requestId, agentVersion, price, hold, run, fence, attempt, history, journal } = again
    const same = { requestId, agentVersion, price, hold, history }
    assert.deepEqual(same, {
      requestId: first.requestId,
      agentVersion: 1,
      price: first.price,
      hold: first.hold,
      history: first.history,
    })
    assert.deepEqual([run, fence, attempt, history.length], [2, 2, 1, 2])
    assert.deepEqual(journal, stepOf(1))

    await bench.advance(again, { entries: [entry('model', 2, 0)] })
    await store.releaseLeases([again])
    const recovered = await claimed(bench, again)
    assert.deepEqual([recovered.agentVersion, recovered.run, recovered.price], [1, 2, first.price])
    assert.deepEqual(recovered.journal, [...stepOf(1), entry('model', 2, 0)])
    assert.equal((await bench.settle(recovered)).kind, 'settled')
    await bench.verify()
  })

  check("retry.continues: without a finished side effect the retry starts over on the agent's current version", async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    const admission = bench.admission()
    const first = await bench.admitted(admission)
    await bench.advance(first, { entries: stepOf(1) })
    await bench.fail(first, 'released')
    const price = plainPrice(1_000_000n, 2_000_000n)
    await bench.revise({ price })
    const again = await bench.admitted(admission)
    assert.deepEqual([again.agentVersion, again.price, again.run, again.journal], [2, price, 2, []])
    assert.ok(again.hold < first.hold)
    await store.releaseLeases([again])
    assert.deepEqual((await claimed(bench, again)).journal, [], 'nothing of the run before it')
    assert.equal((await stepsOf(bench, again)).length, 3, 'though the operator sees it')
    await bench.verify()
  })

  check('retry.continues: the journal counts from the first run with a finished side effect, over all runs since', async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    const admission = bench.admission()
    const runs: { entries: JournalEntry[]; finishedSideEffects: boolean; agentVersion: number }[] = [
      { entries: stepOf(1, '"thrown away"'), finishedSideEffects: false, agentVersion: 1 },
      { entries: stepOf(1, '"kept"'), finishedSideEffects: true, agentVersion: 2 },
      { entries: [entry('model', 2, 0)], finishedSideEffects: false, agentVersion: 2 },
      // A finish that an earlier run has already journaled, and one more.
      { entries: [entry('tool_finished', 1, 1, '"again"'), ...stepOf(3)], finishedSideEffects: true, agentVersion: 2 },
    ]
    for (const [index, { agentVersion, ...journaled }] of runs.entries()) {
      const turn = await bench.admitted(admission)
      assert.deepEqual([turn.run, turn.agentVersion], [index + 1, agentVersion])
      assert.equal((await bench.advance(turn, journaled)).kind, 'advanced')
      assert.equal((await bench.fail(turn, 'released')).kind, 'ended')
      await bench.revise({})
    }
    const last = await bench.admitted(admission)
    const kept = [...stepOf(1, '"kept"'), entry('model', 2, 0), ...stepOf(3)]
    assert.deepEqual(last.journal, kept)
    await store.releaseLeases([last])
    const recovered = await claimed(bench, last)
    assert.deepEqual(recovered.journal, kept)
    await bench.settle(recovered)
    const [reply, message] = (await store.read.listAllMessages({ ...page, conversationId: last.conversationId }))!.items
    assert.deepEqual(places(reply!.steps), places(kept), 'what led to the reply, and no more')
    assert.deepEqual(message!.steps, [])
    await bench.verify()
  })

  check('overload.unread: the steps and citations of the messages count toward the 2 MiB of a page', async (store) => {
    const bench = await Bench.make(store, 10n ** 9n)
    const payload = JSON.stringify('x'.repeat(300_000))
    const citations = Array.from({ length: 20 }, () => ({ documentId: 'doc_1', title: 'x'.repeat(20_000), section: '' }))
    let conversationId = ''
    for (let n = 0; n < 8; n++) {
      const turn = await bench.admitted({ externalUserId: 'ann', message: '\u0001'.repeat(30_000) })
      conversationId = turn.conversationId
      await bench.advance(turn, { entries: n % 2 ? stepOf(1, payload) : [], finishedSideEffects: false })
      await bench.settle(turn, { citations: n % 2 ? [] : citations })
    }
    const ids = new Set<string>()
    for (let before = page.before, more = true; more;) {
      const found = (await store.read.listAllMessages({ limit: 100, before, conversationId }))!
      const bytes = found.items.map((one) => {
        const steps = one.steps.reduce((sum, step) => sum + step.payload.length, 0)
        return steps + JSON.stringify(one.citations).length + JSON.stringify(one.content).length
      })
      const all = bytes.reduce((sum, some) => sum + some, 0)
      assert.ok(all <= 2 * 1024 * 1024 && (!found.more || all > 1024 * 1024), `a page of ${all} bytes`)
      for (const { id } of found.items) ids.add(id)
      const last = found.items.at(-1)!
      ;({ more } = found)
      before = { createdAt: last.createdAt, id: last.id }
    }
    assert.equal(ids.size, 16)
  })

  check('retry.continues: when two processes journal the end of one call, one is stored', async (store) => {
    const bench = await Bench.make(store, 10n ** 9n)
    for (let round = 0; round < 20; round++) await raceForOneFinish(bench, bench)
    await bench.verify()
  })

  check('retry.continues: a journal lasts as long as a retry may need it, and is then deleted after 30 days', async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    const admission = bench.admission()
    const first = await bench.admitted(admission)
    await bench.advance(first, { entries: stepOf(1), finishedSideEffects: true })
    await bench.fail(first, 'released')
    // Retried once a day, each time within the record's lifetime.
    for (let days = 0; days < 31; days++) {
      await store.moveClock(23.9 * hourMs)
      await bench.fail(await bench.admitted(admission), 'released')
    }
    assert.equal(await store.write.clearExpired({ limit: 1000 }), 0)
    const turn = await bench.admitted(admission)
    assert.deepEqual(turn.journal, stepOf(1))
    assert.equal(await store.write.clearExpired({ limit: 1000 }), 0, 'nor while it runs')
    await bench.fail(turn, 'released')
    await store.moveClock(3 * dayMs)
    assert.equal(await store.write.clearExpired({ limit: 1000 }), 3)
    assert.deepEqual(await stepsOf(bench, turn), [])
    await bench.verify()
  })

  check(
    'billing.once: settlement stores citations with the reply, for the operator alone; erase removes them and the journal',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const citations = [
        { documentId: 'doc_1', title: 'Returns “here” \0 \ud83d', section: 'Returns › Deadlines' },
        { documentId: 'doc_2', title: '退款', section: '' },
      ]
      const admission = bench.admission({ externalUserId: 'ann' })
      const turn = await bench.admitted(admission)
      await bench.advance(turn, { entries: stepOf(1), finishedSideEffects: true })
      const settled = await bench.settle(turn, { citations })
      assert.ok(settled.kind === 'settled')
      const plain = await bench.admitted({ externalUserId: 'ann' })
      await bench.settle(plain)

      const { conversationId } = turn
      const listed = (await store.read.listAllMessages({ ...page, conversationId }))!.items
      assert.deepEqual(
        listed.map(({ role, citations: cited, steps }) => ({ role, cited, steps: places(steps) })),
        [
          { role: 'assistant', cited: [], steps: [] },
          { role: 'user', cited: [], steps: [] },
          { role: 'assistant', cited: citations, steps: places(stepOf(1)) },
          { role: 'user', cited: [], steps: [] },
        ],
      )
      const shown = (await store.read.listMessages({ ...page, apiKeyId: bench.apiKeyId, conversationId }))!.items
      for (const message of shown) assert.deepEqual(Object.keys(message), ['id', 'role', 'content', 'createdAt', 'requestId', 'cutOff'])
      assert.deepEqual(await bench.admit({ ...admission, requestId: randomUUID() }), { kind: 'replay', reply: settled.reply })
      assert.equal(JSON.stringify(settled.reply, (_, value: unknown) => String(value)).includes('doc_1'), false)

      assert.equal((await store.write.eraseConversations({ conversationIds: [conversationId] })).kind, 'erased')
      assert.deepEqual(await store.read.listAllMessages({ ...page, conversationId }), { items: [], more: false })
      assert.deepEqual(await stepsOf(bench, turn), [])
      await bench.verify()
    },
  )
}
