/**
 * What every store must do, case by case (the journal's: journal-conformance.ts); each backend's test file runs all of it. Real databases
 * only; the tests set the clock and never wait for it.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { apiKeyFields } from '../../src/resources/api-key.ts'
import { initialOf } from '../../src/resources/field.ts'
import { boundCost } from '../../src/ledger/ledger.ts'
import type { AgentContent } from '../../src/store/queries/agent-versions.ts'
import type {
  Admission,
  AdmissionOutcome,
  AdmittedTurn,
  Advance,
  AdvanceOutcome,
  Settlement,
  TurnFailure,
} from '../../src/store/turn-records.ts'
import type { Each, Later, Store } from '../../src/store/store.ts'
import { fingerprint } from '../../src/turn/fingerprint.ts'
import { plainPrice } from '../support/token-kinds.ts'

export type TestStore = Store & { moveClock(milliseconds: number): void | Promise<void> }
type Open = () => Promise<{ store: TestStore; close(): Promise<void> }>

const price = plainPrice(15_000_000n, 60_000_000n)
const dayMs = 24 * 60 * 60 * 1000
const leaseMs = 15_000
const fixedTokens = 10
const maxOutputTokens = 100
const knowledgeMaxTokens = 50
const maxMessage = 100_000

/** A store with one owner, agent and key, and shorthands for the steps of a turn. */
export class Bench {
  readonly store: TestStore
  readonly ownerId: string
  readonly agentId: string
  readonly apiKeyId: string
  readonly #historyMaxTokens: number
  #version = 1
  #count = 0

  constructor(store: TestStore, id: string, historyMaxTokens: number, ownerId = `own_${id}`, apiKeyId = `key_${id}`) {
    this.store = store
    this.ownerId = ownerId
    this.agentId = `agt_${id}`
    this.apiKeyId = apiKeyId
    this.#historyMaxTokens = historyMaxTokens
  }

  static async make(store: TestStore, balance: bigint, historyMaxTokens = 8000): Promise<Bench> {
    const id = randomUUID().slice(0, 8)
    const bench = new Bench(store, id, historyMaxTokens)
    await store.write.createOwner({ id: bench.ownerId, name: 'o', credit: { ledgerEntryId: `led_${id}`, amount: balance } })
    await bench.#createAgent(id)
    return bench
  }

  /** Another agent of the same owner, with its own key. */
  async another(): Promise<Bench> {
    const id = randomUUID().slice(0, 8)
    const bench = new Bench(this.store, id, this.#historyMaxTokens, this.ownerId)
    await bench.#createAgent(id)
    return bench
  }

  /** Another key of the same agent. */
  async anotherKey(): Promise<Bench> {
    const id = randomUUID().slice(0, 8)
    const bench = new Bench(this.store, this.agentId.slice('agt_'.length), this.#historyMaxTokens, this.ownerId, `key_${id}`)
    await bench.#createKey(id)
    return bench
  }

  async #createAgent(id: string): Promise<void> {
    const { store, ownerId, agentId } = this
    await store.write.createAgent({ id: agentId, ownerId, provider: null, content: this.#content({}) })
    await this.#createKey(id)
  }

  async #createKey(id: string): Promise<void> {
    const { agentId, apiKeyId } = this
    await this.store.write.createApiKey({
      id: apiKeyId,
      keyId: `${id}abcdefgh`,
      agentId,
      ...initialOf(apiKeyFields),
      permission: 'full',
      digest: Buffer.from(id.padEnd(32, 'x')),
    })
  }

  #content(changes: Partial<AgentContent>): AgentContent {
    return {
      name: 'n',
      model: 'demo/demo',
      config: '{}',
      fixedTokens,
      historyMaxTokens: this.#historyMaxTokens,
      knowledgeMaxTokens,
      maxOutputTokens,
      maxMessageLength: maxMessage,
      price,
      ...changes,
    }
  }

  /** The agent's next version. */
  async revise(changes: Partial<AgentContent>): Promise<void> {
    const next = { after: this.#version++, provider: null, content: this.#content(changes) }
    assert.equal((await this.store.write.changeAgent({ id: this.agentId, next })).kind, 'changed')
  }

  admission(changes: Partial<Admission> = {}): Admission {
    const n = ++this.#count
    const externalUserId = changes.externalUserId ?? `user-${n}`
    const message = changes.message ?? 'hello'
    return {
      apiKeyId: this.apiKeyId,
      agentId: this.agentId,
      ownerId: this.ownerId,
      idempotencyKey: `idem-${n}`,
      fingerprint: fingerprint(externalUserId, message),
      externalUserId,
      message,
      messageLength: [...message].length,
      messageTokens: Math.ceil(Buffer.byteLength(message) / 2),
      requestId: randomUUID(),
      conversationId: `conv_${randomUUID()}`,
      traceparent: null,
      leaseMs,
      mayRun: true,
      ...changes,
    }
  }

  async admit(changes: Partial<Admission> = {}): Promise<Each<AdmissionOutcome> | Later> {
    return (await this.store.admitMany([this.admission(changes)]))[0]!
  }

  async admitted(changes: Partial<Admission> = {}): Promise<AdmittedTurn> {
    const outcome = await this.admit(changes)
    assert.ok(outcome.kind === 'admitted', `not admitted: ${outcome.kind}`)
    return outcome.turn
  }

  /** Only checks the fence, except for the given fields. */
  advancing(turn: AdmittedTurn, changes: Partial<Advance> = {}): Advance {
    const { requestId, fence, hold } = turn
    return { requestId, fence, entries: [], hold, finishedSideEffects: false, ...changes }
  }

  async advance(turn: AdmittedTurn, changes: Partial<Advance> = {}): Promise<Each<AdvanceOutcome>> {
    return (await this.store.advanceMany([this.advancing(turn, changes)]))[0]!
  }

  settlement(turn: AdmittedTurn, changes: Partial<Settlement> = {}): Settlement {
    return {
      requestId: turn.requestId,
      fence: turn.fence,
      userMessageId: `msg_${randomUUID()}`,
      assistantMessageId: `msg_${randomUUID()}`,
      ledgerEntryId: `led_${randomUUID()}`,
      content: 'good day',
      contentTokens: 4,
      citations: [],
      promptTokens: 20,
      cachedPromptTokens: 0,
      cacheWriteTokens: 0,
      completionTokens: 5,
      reasoningTokens: 0,
      usageEstimated: false,
      toolCalls: 0n,
      charged: 600n,
      writtenOff: 0n,
      firstDeltaMs: 1,
      incomplete: false,
      finishReason: changes.incomplete ? null : 'stop',
      trace: null,
      ...changes,
    }
  }

  async settle(turn: AdmittedTurn, changes: Partial<Settlement> = {}) {
    return (await this.store.settleMany([this.settlement(turn, changes)]))[0]!
  }

  /** Requests a cancel and ends the turn without a reply. */
  async cancel(turn: AdmittedTurn) {
    assert.ok(await this.store.write.requestCancel({ requestId: turn.requestId }))
    return this.fail(turn, 'cancelled', { code: 'turn_cancelled', causeKind: null })
  }

  async fail(turn: AdmittedTurn, state: TurnFailure['state'], changes: Partial<TurnFailure> = {}) {
    const code = state === 'released' ? 'service_unavailable' : 'internal_error'
    return (
      await this.store.failMany([
        {
          requestId: turn.requestId,
          fence: turn.fence,
          state,
          code,
          cause: 'test',
          causeKind: 'internal_error',
          unpaid: 0n,
          neededHold: 0n,
          trace: null,
          ...changes,
        },
      ])
    )[0]!
  }

  async money(): Promise<{ balance: bigint; held: bigint }> {
    const owner = await this.store.read.findOwner(this.ownerId)
    return { balance: owner!.balance, held: owner!.held }
  }

  async verify(): Promise<void> {
    const broken = (await this.store.read.verify()).filter((result) => result.rows.length > 0)
    assert.deepEqual(broken, [])
  }
}

/** One case on a separate store. `skip` says why it cannot run here; false: it can. */
export type Check = (sentence: string, body: (store: TestStore) => Promise<void>) => void

export function checkOn(backend: string, open: Open, skip: string | false = false): Check {
  return (sentence, body) =>
    void test(`${backend}: ${sentence}`, { skip }, async () => {
      const { store, close } = await open()
      try {
        await body(store)
      } finally {
        await close()
      }
    })
}

export function conformance(check: Check): void {
  check('billing.hold: an admission holds the bound computed from stored numbers and leaves the balance unchanged', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted({ message: 'hello' })
    const bound = boundCost({ promptTokens: fixedTokens + 0 + knowledgeMaxTokens + 3, completionTokens: maxOutputTokens }, price)
    assert.equal(turn.hold, bound)
    assert.deepEqual(await bench.money(), { balance: 1_000_000n, held: bound })
    await bench.settle(turn)
    const second = await bench.admitted({ externalUserId: 'user-1' })
    const history = 3 + 4
    assert.equal(
      second.hold,
      boundCost({ promptTokens: fixedTokens + history + knowledgeMaxTokens + 3, completionTokens: maxOutputTokens }, price),
    )
    await bench.verify()
  })

  check(
    'idempotency.in-progress idempotency.conflict: a repeated key is in progress or conflicts while the first turn runs, also within one batch',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const first = bench.admission()
      const outcomes = await store.admitMany([
        first,
        { ...first, requestId: randomUUID() },
        { ...first, fingerprint: fingerprint('user-1', 'else') },
      ])
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['admitted', 'idempotency_in_progress', 'idempotency_conflict'],
      )
      await bench.verify()
    },
  )

  check(
    'turn.durable-first: an admitted turn is reported early, once, and the same object is its outcome; nothing else is',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const released = bench.admission()
      await bench.fail(await bench.admitted(released), 'released')
      const first = bench.admission()
      const batch = [first, { ...first, requestId: randomUUID() }, bench.admission({ agentId: 'agt_none' }), bench.admission(), released]
      const early = new Map<number, AdmissionOutcome>()
      let isAnswered = false
      const answering = store.admitMany(batch, (index, outcome) => {
        assert.ok(!isAnswered && !early.has(index), 'once, before the answer')
        early.set(index, outcome)
      })
      const outcomes = await answering.finally(() => (isAnswered = true))
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['admitted', 'idempotency_in_progress', 'agent_not_found', 'admitted', 'admitted'],
      )
      for (const [index, outcome] of outcomes.entries()) assert.equal(early.get(index), outcome.kind === 'admitted' ? outcome : undefined)
      await bench.verify()
    },
  )

  check('conversation.busy: stores nothing for the rejected message and leaves its key usable', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted({ externalUserId: 'ann' })
    const held = (await bench.money()).held
    const second = bench.admission({ externalUserId: 'ann', message: 'again' })
    assert.equal((await store.admitMany([second]))[0]!.kind, 'conversation_busy')
    assert.equal((await bench.money()).held, held)
    await bench.settle(turn)
    assert.equal((await store.admitMany([second]))[0]!.kind, 'admitted')
    await bench.verify()
  })

  check(
    'billing.once idempotency.replay: settlement stores both messages and one charge, and a replay returns the same reply',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const admission = bench.admission({ message: 'hello' })
      const [outcome] = await store.admitMany([admission])
      assert.equal(outcome!.kind, 'admitted')
      const turn = (outcome as Extract<AdmissionOutcome, { kind: 'admitted' }>).turn
      const settled = await bench.settle(turn)
      assert.equal(settled.kind, 'settled')
      assert.deepEqual(await bench.money(), { balance: 999_400n, held: 0n })
      const [replay] = await store.admitMany([{ ...admission, requestId: randomUUID(), conversationId: 'conv_other' }])
      assert.deepEqual(replay, { kind: 'replay', reply: (settled as { reply: unknown }).reply })
      const next = await bench.admitted({ externalUserId: admission.externalUserId })
      assert.deepEqual(next.history, [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'good day' },
      ])
      await bench.verify()
    },
  )

  check('one_charge_per_turn: a settlement succeeds once, also twice in one batch', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    const outcomes = await store.settleMany([bench.settlement(turn), bench.settlement(turn)])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['settled', 'lost'],
    )
    assert.equal((await bench.fail(turn, 'failed')).kind, 'lost')
    assert.deepEqual(await bench.money(), { balance: 999_400n, held: 0n })
    await bench.verify()
  })

  check('turn.states: a released turn gives its hold back and runs again under its request_id; another body conflicts', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission()
    const [first] = (await store.admitMany([admission])) as [Extract<AdmissionOutcome, { kind: 'admitted' }>]
    assert.equal((await bench.fail(first.turn, 'released')).kind, 'ended')
    assert.deepEqual(await bench.money(), { balance: 1_000_000n, held: 0n })
    assert.equal((await bench.admit({ ...admission, fingerprint: fingerprint('x', 'y') })).kind, 'idempotency_conflict')
    const again = await bench.admitted({ ...admission, requestId: randomUUID(), conversationId: 'conv_unused' })
    assert.equal(again.requestId, first.turn.requestId)
    assert.equal(again.conversationId, first.turn.conversationId)
    assert.deepEqual([again.run, again.attempt, again.fence], [2, 1, 2])
    assert.equal((await bench.settle(first.turn)).kind, 'lost', 'the first run is fenced off')
    assert.equal((await bench.settle(again)).kind, 'settled')
    await bench.verify()
  })

  check('turn.states: a released turn passes every check of the admission again', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission({ externalUserId: 'ann' })
    const turn = await bench.admitted(admission)
    await bench.fail(turn, 'released')
    const other = await bench.admitted({ externalUserId: 'ann' })
    assert.equal((await bench.admit(admission)).kind, 'conversation_busy')
    await bench.settle(other)
    await store.write.changeAgent({ id: bench.agentId, enabled: false })
    assert.equal((await bench.admit(admission)).kind, 'agent_disabled')
  })

  check(
    'turn.cancel: a cancel is stored only while the turn runs, and a cancelled turn returns the same failure and is no error',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const admission = bench.admission()
      const turn = await bench.admitted(admission)
      assert.deepEqual(await bench.cancel(turn), { kind: 'ended' })
      for (const _ of [1, 2])
        assert.deepEqual(await bench.admit({ ...admission, requestId: randomUUID() }), {
          kind: 'replayed_failure',
          requestId: turn.requestId,
          code: 'turn_cancelled',
        })
      assert.equal(await store.write.requestCancel({ requestId: turn.requestId }), undefined)
      assert.equal(await store.write.requestCancel({ requestId: randomUUID() }), undefined)
      assert.deepEqual(await bench.settle(turn), { kind: 'lost' })
      assert.deepEqual(await bench.money(), { balance: 1_000_000n, held: 0n })
      await bench.verify()
    },
  )

  check('turn.cancel: the store refuses a cancel or an incomplete reply that was not requested', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    assert.equal((await bench.fail(turn, 'cancelled', { code: 'turn_cancelled', causeKind: null })).kind, 'error')
    assert.equal((await bench.settle(turn, { incomplete: true })).kind, 'error')
    await store.write.requestCancel({ requestId: turn.requestId })
    const settled = await bench.settle(turn, { incomplete: true })
    assert.ok(settled.kind === 'settled' && settled.reply.incomplete)
    await bench.verify()
  })

  check('turn.cancel: a retry of a released turn is not cancelled by a request for its earlier run', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission()
    const turn = await bench.admitted(admission)
    await store.write.requestCancel({ requestId: turn.requestId })
    assert.deepEqual(await store.read.listCancelRequests(), [{ requestId: turn.requestId, run: 1 }])
    await bench.fail(turn, 'released')
    assert.deepEqual(await store.read.listCancelRequests(), [])
    const again = await bench.admitted(admission)
    assert.deepEqual([again.requestId, again.cancelRequested], [turn.requestId, false])
    assert.deepEqual(await store.read.listCancelRequests(), [])
    assert.equal((await bench.settle(again)).kind, 'settled')
  })

  check('turn.cancel: of a settlement, a failure and a cancel of one turn at the same time, exactly one takes effect', async (store) => {
    const bench = await Bench.make(store, 1_000_000_000n)
    const races = Number(process.env['CANCEL_RACES'] ?? 40)
    const wins: Record<string, number> = {}
    for (let n = 0; n < races; n++) {
      const turn = await bench.admitted()
      const request = store.write.requestCancel({ requestId: turn.requestId })
      // As in the engine, the request is stored before the turn ends as cancelled. In half of the races it still races with the other ends.
      if (n % 4 < 2) await request
      const cancel = () => bench.fail(turn, 'cancelled', { code: 'turn_cancelled', causeKind: null })
      const ends = [
        () => bench.settle(turn, { incomplete: n % 4 === 0 }),
        () => (n % 4 < 2 ? cancel() : request.then(cancel)),
        () => bench.fail(turn, 'released'),
        () => bench.settle(turn),
      ]
      const outcomes = await Promise.all([...ends.slice(n % 4), ...ends.slice(0, n % 4)].map((end) => end()))
      await request
      assert.equal(
        outcomes.filter(({ kind }) => kind === 'settled' || kind === 'ended').length,
        1,
        JSON.stringify(outcomes.map(({ kind }) => kind)),
      )
      const { state } = (await store.read.findTurnStatus(turn.requestId))!
      wins[state] = (wins[state] ?? 0) + 1
    }
    if (process.env['CANCEL_RACES']) console.log(wins)
    assert.ok(Object.keys(wins).length >= 3, JSON.stringify(wins))
    await bench.verify()
  })

  check('turn.resource: a turn is found with its end by its key alone, and not after an erasure', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted({ externalUserId: 'ann' })
    const find = (key: string | undefined = bench.apiKeyId) => store.read.findTurnStatus(turn.requestId, key)
    assert.deepEqual([(await find())?.state, (await find())?.externalUserId, (await find())?.reply], ['running', 'ann', null])
    assert.equal(await find('key_other'), undefined)
    assert.deepEqual(await store.read.listEnded([turn.requestId]), [])
    const settled = await bench.settle(turn)
    assert.ok(settled.kind === 'settled')
    assert.deepEqual((await find())?.reply, settled.reply)
    assert.deepEqual(
      (await store.read.listEnded([turn.requestId, randomUUID()])).map(({ requestId }) => requestId),
      [turn.requestId],
    )
    await store.write.eraseConversations({ conversationIds: [turn.conversationId] })
    assert.equal(await find(), undefined)
  })

  check('feedback: the last one counts, of this key and an ended turn only, and an erasure removes it', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const turn = await bench.admitted()
    const { requestId } = turn
    const give = (rating: 'up' | 'down', changes: { apiKeyId?: string; comment?: string } = {}) =>
      store.write.putFeedback({ requestId, apiKeyId: bench.apiKeyId, rating, comment: null, tags: ['a'], ...changes })
    assert.equal(await give('up'), undefined)
    await bench.settle(turn)
    assert.equal(await give('up', { apiKeyId: 'key_other' }), undefined)
    await Promise.all([give('up'), give('down'), give('up')])
    const last = await give('down', { comment: 'no' })
    assert.deepEqual([last?.rating, last?.comment, last?.tags], ['down', 'no', ['a']])
    assert.deepEqual(await store.read.findFeedback(requestId), last)
    const page = { limit: 10, before: { createdAt: 2 ** 52, id: '' } }
    const listed = async (filter: object) => (await store.read.listFeedback(filter, page)).map((one) => one.requestId)
    assert.deepEqual(
      [await listed({ tag: 'a' }), await listed({ rating: 'down' }), await listed({ agentId: bench.agentId })],
      [[requestId], [requestId], [requestId]],
    )
    assert.deepEqual([await listed({ tag: 'b' }), await listed({ rating: 'up' }), await listed({ agentId: 'agt_x' })], [[], [], []])
    await store.write.eraseConversations({ conversationIds: [turn.conversationId] })
    assert.deepEqual([await store.read.findFeedback(requestId), await give('up')], [undefined, undefined])
    await bench.verify()
  })

  check('turn.states: a failed turn returns the same failure', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission()
    const turn = await bench.admitted(admission)
    await bench.fail(turn, 'failed')
    assert.deepEqual(await bench.admit({ ...admission, requestId: randomUUID() }), {
      kind: 'replayed_failure',
      requestId: turn.requestId,
      code: 'internal_error',
    })
    assert.equal((await bench.admit({ ...admission, fingerprint: fingerprint('x', 'y') })).kind, 'idempotency_conflict')
    await bench.verify()
  })

  check(
    'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never expires',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const admission = bench.admission()
      const turn = await bench.admitted(admission)
      await store.moveClock(2 * dayMs)
      assert.equal((await bench.admit({ ...admission, requestId: randomUUID() })).kind, 'idempotency_in_progress')
      await bench.settle(turn)
      await store.moveClock(dayMs - 60_000)
      assert.equal((await bench.admit(admission)).kind, 'replay')
      await store.moveClock(60_000)
      const fresh = await bench.admitted({
        ...admission,
        requestId: randomUUID(),
        fingerprint: fingerprint(admission.externalUserId, 'hello'),
      })
      assert.notEqual(fresh.requestId, turn.requestId)
      assert.equal(fresh.history.length, 2)
      await bench.verify()
    },
  )

  check('one_turn_per_key: when a record expires, a hundred requests start one new turn', async (store) => {
    const bench = await Bench.make(store, 10_000_000n)
    const admission = bench.admission()
    await bench.settle(await bench.admitted(admission))
    await store.moveClock(dayMs)
    const batches = Array.from({ length: 10 }, () => Array.from({ length: 10 }, () => ({ ...admission, requestId: randomUUID() })))
    const outcomes = (await Promise.all(batches.map((batch) => store.admitMany(batch)))).flat()
    assert.equal(outcomes.filter(({ kind }) => kind === 'admitted').length, 1)
    assert.equal(outcomes.filter(({ kind }) => kind === 'idempotency_in_progress').length, 99)
    await bench.verify()
  })

  check('balance_never_negative: a balance for seven of a hundred admits exactly seven, item by item', async (store) => {
    const hold = boundCost({ promptTokens: fixedTokens + knowledgeMaxTokens + 3, completionTokens: maxOutputTokens }, price)
    const bench = await Bench.make(store, hold * 7n + (hold - 1n))
    const outcomes = (
      await Promise.all([0, 1, 2, 3].map(() => store.admitMany(Array.from({ length: 25 }, () => bench.admission()))))
    ).flat()
    const admitted = outcomes.filter((outcome) => outcome.kind === 'admitted')
    assert.equal(admitted.length, 7)
    assert.equal(outcomes.filter(({ kind }) => kind === 'insufficient_balance').length, 93)
    assert.deepEqual(await bench.money(), { balance: hold * 7n + (hold - 1n), held: hold * 7n })
    await store.settleMany(admitted.map(({ turn }) => bench.settlement(turn)))
    assert.deepEqual(await bench.money(), { balance: hold * 7n + (hold - 1n) - 7n * 600n, held: 0n })
    await bench.verify()
  })

  check('order.admission: the record, then the agent, then the conversation, then the balance', async (store) => {
    const bench = await Bench.make(store, 1_000n)
    assert.equal((await bench.admit({ agentId: 'agt_none' })).kind, 'agent_not_found')
    assert.equal((await bench.admit()).kind, 'insufficient_balance')
    const rich = await Bench.make(store, 1_000_000n)
    const answered = rich.admission({ externalUserId: 'ann' })
    await rich.settle(await rich.admitted(answered))
    await rich.admitted({ externalUserId: 'ann' })
    await store.write.changeAgent({ id: rich.agentId, enabled: false })
    assert.equal((await rich.admit(answered)).kind, 'replay')
    assert.equal((await rich.admit({ externalUserId: 'ann' })).kind, 'agent_disabled')
    await store.write.deleteAgent(rich.agentId)
    assert.equal((await rich.admit({ externalUserId: 'ann' })).kind, 'agent_not_found')
    assert.equal((await rich.admit(answered)).kind, 'replay')
  })

  check(
    'order.validation: a message that is too long is refused after the stored reply of the same request and before all other checks',
    async (store) => {
      const bench = await Bench.make(store, 1_000_000n)
      const tooLong = (longest: number) => ({ kind: 'message_too_long', longest })
      const other = { fingerprint: fingerprint('x', 'y') }
      const stored = Object.fromEntries(
        ['completed', 'failed', 'released', 'erased', 'running'].map((state) => [state, bench.admission({ externalUserId: state })]),
      )
      const again = (state: string, changes: Partial<Admission> = {}) =>
        bench.admit({ ...stored[state]!, requestId: randomUUID(), ...changes })
      await bench.settle(await bench.admitted(stored['completed']))
      await bench.fail(await bench.admitted(stored['failed']), 'failed')
      await bench.fail(await bench.admitted(stored['released']), 'released')
      const erased = await bench.admitted(stored['erased'])
      await bench.settle(erased)
      await store.write.eraseConversations({ conversationIds: [erased.conversationId] })
      const running = await bench.admitted(stored['running'])

      await bench.revise({ maxMessageLength: 4 })
      const answers = { completed: 'replay', failed: 'replayed_failure', erased: 'erased', running: 'idempotency_in_progress' }
      for (const [state, kind] of Object.entries(answers)) assert.equal((await again(state)).kind, kind, state)
      assert.deepEqual(await again('released'), tooLong(4), 'it would run again')
      for (const state of Object.keys(stored)) {
        assert.deepEqual(await again(state, other), tooLong(4), `another body, too long as well, beside ${state}`)
        assert.equal((await again(state, { ...other, messageLength: 4 })).kind, 'idempotency_conflict', state)
      }
      assert.deepEqual(await bench.admit(), tooLong(4))
      assert.deepEqual(await bench.admit({ mayRun: false }), tooLong(4), 'a full process')
      assert.deepEqual(await bench.admit({ externalUserId: 'running' }), tooLong(4), 'a busy conversation')
      assert.equal((await bench.admit({ externalUserId: 'running', messageLength: 4 })).kind, 'conversation_busy')
      assert.equal((await bench.admit({ message: '😀😀😀😀' })).kind, 'admitted', 'code points')
      const poor = await Bench.make(store, 1n)
      await poor.revise({ maxMessageLength: 4 })
      assert.deepEqual(await poor.admit(), tooLong(4), 'a balance that is too low')
      assert.equal((await poor.admit({ message: 'four' })).kind, 'insufficient_balance')
      await store.write.changeAgent({ id: bench.agentId, enabled: false })
      assert.deepEqual(await bench.admit(), tooLong(4), 'an agent that is off')
      assert.equal((await bench.admit({ message: 'four' })).kind, 'agent_disabled')
      await store.write.changeAgent({ id: bench.agentId, enabled: true })
      await bench.revise({ maxMessageLength: 5 })
      assert.equal((await again('released')).kind, 'admitted', 'it fits again')

      await store.write.deleteAgent(bench.agentId)
      assert.deepEqual(await bench.admit({ messageLength: 32_001 }), tooLong(32_000), 'a deleted agent says nothing')
      assert.equal((await bench.admit({ messageLength: 32_000 })).kind, 'agent_not_found')
      assert.deepEqual(await bench.admit({ agentId: 'agt_none', messageLength: 32_001 }), tooLong(32_000))
      assert.equal((await bench.settle(running)).kind, 'settled')
      await store.moveClock(dayMs)
      assert.deepEqual(await again('completed', { messageLength: 32_001 }), tooLong(32_000), 'its record is no more')
      const turns = await store.read.listTurns({ agentId: bench.agentId }, { limit: 100, before: { createdAt: 2 ** 52, id: '' } })
      assert.equal(turns.length, 6, 'the five and the one that fitted')
      await bench.verify()
    },
  )

  check('a full process admits nothing new and still replays', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const answered = bench.admission()
    await bench.settle(await bench.admitted(answered))
    assert.equal((await bench.admit({ ...answered, mayRun: false })).kind, 'replay')
    assert.equal((await bench.admit({ mayRun: false })).kind, 'overloaded')
    await bench.verify()
  })

  check('a failing item of a batch does not affect the others', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const outcomes = await store.admitMany([bench.admission(), bench.admission({ apiKeyId: 'key_of_nobody' }), bench.admission()])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['admitted', 'error', 'admitted'],
    )
    await bench.verify()
  })

  check('billing.hold: advance journals a step and extends the hold, both or neither', async (store) => {
    const bench = await Bench.make(store, 20_000n)
    const turn = await bench.admitted()
    const { fence, hold } = turn
    const entry = { step: 1, part: 0, kind: 'model' as const, payload: '{"a":1}' }
    assert.deepEqual(await bench.advance(turn, { entries: [entry], hold: hold + 5_000n }), { kind: 'advanced' })
    assert.equal((await bench.money()).held, hold + 5_000n)
    const second = { ...entry, step: 2 }
    assert.deepEqual(await bench.advance(turn, { entries: [second], hold: 30_000n }), { kind: 'insufficient_balance' })
    assert.deepEqual(await bench.advance(turn, { fence: fence + 1, entries: [second] }), { kind: 'lost' })
    await store.moveClock(leaseMs + 1)
    const claims = await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
    assert.deepEqual(claims.turns[0]!.journal, [entry])
    assert.equal(claims.turns[0]!.hold, hold + 5_000n)
    assert.equal((await bench.settle(claims.turns[0]!)).kind, 'settled')
    await bench.verify()
  })

  check('turn.errors: each run without a reply is one error with its cause, however often its end is reported', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const again = { idempotencyKey: 'again', externalUserId: 'ann' }
    const first = await bench.admitted(again)
    const end = () => bench.fail(first, 'released', { causeKind: 'provider_401' })
    await Promise.all([end(), end(), end(), end()])
    const second = await bench.admitted(again)
    assert.deepEqual([second.requestId, second.run], [first.requestId, 2])
    await end()
    await bench.fail(second, 'released', { causeKind: 'provider_timeout' })
    await bench.settle(await bench.admitted(again))
    await bench.fail(await bench.admitted(), 'failed', { causeKind: 'empty_reply' })
    const orphan = await bench.admitted()
    for (let attempt = 1; attempt <= 3; attempt++) {
      await store.moveClock(leaseMs + 1)
      for (const which of ['fresh', 'suspect'] as const) await store.claimOrphans({ which, limit: 1000, leaseMs, running: [] })
    }
    assert.equal((await store.read.findTurn(orphan.requestId))?.failure?.causeKind, 'process_died')
    const { totals } = await store.read.usageByBucket({ from: 0, to: 10 ** 13, bucketMs: 10 ** 13, ownerId: bench.ownerId })
    const causes = { provider_401: 1, provider_timeout: 1, empty_reply: 1, process_died: 1 }
    assert.deepEqual(Object.fromEntries(totals.errorsByCause), causes)
    assert.deepEqual([totals.errors, totals.completed, totals.failed, totals.released], [4, 1, 2, 0])
    await bench.verify()
  })

  check('turn.states: an orphan is claimed when its lease has expired, counted and fenced, at most three attempts', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const admission = bench.admission()
    const turn = await bench.admitted(admission)
    const claim = (which: 'fresh' | 'suspect', running: string[] = []) => store.claimOrphans({ which, limit: 10, leaseMs, running })
    assert.deepEqual(await claim('fresh'), { turns: [], exhausted: [] }, 'its lease runs')
    await store.moveClock(leaseMs + 1)
    assert.deepEqual((await claim('fresh', [turn.requestId])).turns, [], 'it runs in the claiming process')
    const [second] = (await claim('fresh')).turns
    assert.deepEqual([second!.requestId, second!.attempt, second!.fence, second!.message], [turn.requestId, 2, 2, 'hello'])
    assert.equal((await bench.settle(turn)).kind, 'lost', 'the first process is fenced off')
    assert.equal((await bench.fail(turn, 'released')).kind, 'lost', 'nor does it end what another one runs')
    await store.moveClock(leaseMs + 1)
    assert.deepEqual((await claim('fresh')).turns, [], 'a turn tried twice is suspect')
    const [third] = (await claim('suspect')).turns
    assert.equal(third!.attempt, 3)
    await store.moveClock(leaseMs + 1)
    assert.deepEqual(await claim('suspect'), { turns: [], exhausted: [turn.requestId] })
    assert.equal((await bench.admit(admission)).kind, 'replayed_failure')
    assert.deepEqual(await bench.money(), { balance: 1_000_000n, held: 0n })
    await bench.verify()
  })

  check('running_has_lease: a renewed lease is kept, a lost one is reported, a released one is free immediately', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const kept = await bench.admitted()
    const given = await bench.admitted()
    await store.moveClock(leaseMs / 2)
    assert.deepEqual(await store.renewLeases([kept], leaseMs), [])
    await store.releaseLeases([given])
    const claim = () => store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
    assert.deepEqual(
      (await claim()).turns.map(({ requestId }) => requestId),
      [given.requestId],
    )
    await store.moveClock(leaseMs / 2 + 1)
    assert.deepEqual((await claim()).turns, [], 'the renewed lease runs on')
    assert.deepEqual(await store.renewLeases([kept, given], leaseMs), [given])
  })

  check('turn.states: two claims at the same time take each orphan once', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const orphans = await Promise.all([1, 2, 3].map(() => bench.admitted()))
    await store.moveClock(leaseMs + 1)
    const claim = () => store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
    const claims = await Promise.all([claim(), claim(), claim()])
    // Those above may have been too fast for each other; this one comes after an answer in any case.
    claims.push(await claim())
    assert.deepEqual(
      claims.flatMap(({ turns }) => turns.map(({ requestId }) => requestId)).toSorted(),
      orphans.map(({ requestId }) => requestId).toSorted(),
    )
  })

  check('turn.states: turns without an attempt left are ended at once, however many suspects wait', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const claim = (which: 'fresh' | 'suspect', limit = 10) => store.claimOrphans({ which, limit, leaseMs, running: [] })
    const worn = await bench.admitted()
    for (const which of ['fresh', 'suspect'] as const) {
      await store.moveClock(60_000)
      assert.equal((await claim(which)).turns.length, 1)
    }
    const [one, two] = [await bench.admitted(), await bench.admitted()]
    await store.moveClock(60_000)
    assert.deepEqual((await claim('fresh')).turns.length, 2)
    await store.moveClock(60_000)
    const { turns, exhausted } = await claim('suspect')
    assert.deepEqual(exhausted, [worn.requestId])
    assert.ok(turns.length === 1 && [one.requestId, two.requestId].includes(turns[0]!.requestId))
    await bench.verify()
  })

  check('turn.states: suspects are claimed one at a time, after all fresh turns', async (store) => {
    const bench = await Bench.make(store, 10_000_000n)
    const turns = await Promise.all([1, 2, 3].map(() => bench.admitted()))
    await store.moveClock(leaseMs + 1)
    const first = await store.claimOrphans({ which: 'fresh', limit: 2, leaseMs, running: [] })
    assert.equal(first.turns.length, 2)
    await store.moveClock(leaseMs + 1)
    const suspects = await store.claimOrphans({ which: 'suspect', limit: 10, leaseMs, running: [] })
    assert.equal(suspects.turns.length, 1)
    const fresh = await store.claimOrphans({ which: 'fresh', limit: 10, leaseMs, running: [] })
    const claimed = new Set(first.turns.map(({ requestId }) => requestId))
    const left = turns.map(({ requestId }) => requestId).filter((requestId) => !claimed.has(requestId))
    assert.deepEqual(
      fresh.turns.map(({ requestId }) => requestId),
      left,
    )
  })

  check('erase: a later erasure has a later time, although the clock was set back', async (store) => {
    const bench = await Bench.make(store, 1_000_000n)
    const times: number[] = []
    for (const back of [60_000, 0]) {
      const turn = await bench.admitted()
      await bench.settle(turn)
      await store.write.eraseConversations({ conversationIds: [turn.conversationId] })
      times.push((await store.read.findTurn(turn.requestId))!.erasedAt!)
      await store.moveClock(-back)
    }
    assert.ok(times[1]! > times[0]!, String(times))
    await bench.verify()
  })

  check('history: the newest whole exchanges that fit the window, oldest first', async (store) => {
    // one exchange counts 3 + 4 tokens; a window of 20 holds two of them
    const bench = await Bench.make(store, 100_000_000n, 20)
    for (const n of [1, 2, 3, 4])
      await bench.settle(await bench.admitted({ externalUserId: 'ann', message: `text${n}` }), { content: `reply${n}` })
    const turn = await bench.admitted({ externalUserId: 'ann' })
    assert.deepEqual(
      turn.history.map(({ content }) => content),
      ['text3', 'reply3', 'text4', 'reply4'],
    )
    await bench.verify()
  })

  check('audit: a write that adds more entries than its author has IDs for is rolled back', async (store) => {
    const id = `own_${randomUUID()}`
    const author = { who: 'admin_token' as const, requestId: randomUUID(), entryIds: [] }
    await assert.rejects(store.writeAs(author).createOwner({ id, name: 'n', credit: undefined }), /adds 1 audit entries, .* IDs for 0/)
    assert.equal(await store.read.findOwner(id), undefined)
  })

  check('audit.reads: readings of one author and subject at the same time are one entry', async (store) => {
    const reading = { verb: 'read' as const, noun: 'conversation', subjectId: `conv_${randomUUID()}` }
    const ann = { who: 'operator' as const, id: `opr_${randomUUID()}`, name: 'Ann' }
    const record = (author: typeof ann) =>
      store.writeAs({ ...author, requestId: randomUUID(), entryIds: [`aud_${randomUUID()}`] }).recordReading(reading)
    await Promise.all([...Array.from({ length: 8 }, () => record(ann)), record({ ...ann, id: `opr_${randomUUID()}`, name: 'Ben' })])
    const entries = await store.read.listAudit({ subjectId: reading.subjectId }, { limit: 10, before: { createdAt: 2 ** 52, id: '' } })
    assert.deepEqual(entries.map(({ authorName }) => authorName).toSorted(), ['Ann', 'Ben'])
  })

  check('conversation.identity: one conversation per key and end user, no normalization, no trimming', async (store) => {
    const bench = await Bench.make(store, 100_000_000n)
    const other = await Bench.make(store, 100_000_000n)
    const users = ['é', 'e\u0301', ' é', 'É', 'é ']
    const ids = []
    for (const externalUserId of users) ids.push((await bench.admitted({ externalUserId })).conversationId)
    ids.push((await other.admitted({ externalUserId: 'é' })).conversationId)
    assert.equal(new Set(ids).size, users.length + 1)
  })
}
