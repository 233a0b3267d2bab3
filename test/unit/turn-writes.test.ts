/** The writes of a running turn: long journals take several transactions, and no write of a step outlasts the turn's deadline. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { bytesOf, maxBytes } from '../../src/store/budget.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Each, Store } from '../../src/store/store.ts'
import type { AdmittedTurn, Advance, AdvanceOutcome, JournalEntry } from '../../src/store/turn-records.ts'
import { LiveTurn } from '../../src/turn/live-turn.ts'
import { createStoreWarnings } from '../../src/turn/store-warnings.ts'
import { createTurnWrites } from '../../src/turn/turn-writes.ts'
import { plainPrice, plainTokens } from '../support/token-kinds.ts'

const noUsage = plainTokens(0, 0)
const price = plainPrice(1_000_000n, 1_000_000n)

function open(t: TestContext, advanceMany: (items: Advance[]) => Promise<Each<AdvanceOutcome>[]>, turnMs = 60_000) {
  const store = { advanceMany } as Store
  const admitted = { requestId: 'turn', fence: 1, journal: [] as JournalEntry[], price, hold: 10n } as AdmittedTurn
  const turn = new LiveTurn(admitted, { turnMs, answerMs: 60_000 })
  t.after(() => turn.finish({ kind: 'failed', code: 'internal_error', state: 'failed' }))
  return { turn, writes: createTurnWrites({ store, warnings: createStoreWarnings(pino({ level: 'silent' })) }) }
}

const finished = (part: number, payload = '{}'): JournalEntry => ({ step: 1, part, kind: 'tool_finished', payload })
const entriesOf = (count: number, payload?: string): JournalEntry[] =>
  Array.from({ length: count }, (_, index) => finished(index + 1, payload))

void test('tools.journal: 10,000 entries are stored in order by transactions within the budget, the hold and the flag by the last one', async (t) => {
  const sent: Advance[] = []
  const { turn, writes } = open(t, async (items) => {
    sent.push(...items)
    return items.map(() => ({ kind: 'advanced' }))
  })
  const entries = entriesOf(10_000)
  assert.equal(await writes.journal(turn, entries, true), true)
  assert.deepEqual(
    sent.flatMap((one) => one.entries),
    entries,
  )
  assert.ok(sent.length >= 10)
  for (const one of sent) assert.ok(bytesOf.advance(one) <= maxBytes + 4096, `${bytesOf.advance(one)} bytes`)
  assert.deepEqual(
    sent.map(({ finishedSideEffects }) => finishedSideEffects),
    sent.map((_, index) => index === sent.length - 1),
  )
  sent.length = 0
  const bound = { promptTokens: 100, completionTokens: 0 }
  const large = entriesOf(4, 'x'.repeat(maxBytes))
  assert.equal(await writes.beforeStep(turn, { entries: large, usageSoFar: noUsage, boundSoFar: noUsage, toolCallsSoFar: 0, bound }), true)
  assert.deepEqual(
    sent.map((one) => [one.entries.length, one.hold]),
    [
      [1, 10n],
      [1, 10n],
      [1, 10n],
      [1, 100n],
    ],
  )
  assert.equal(turn.admitted.hold, 100n)
})

void test('tools.journal: if the balance does not cover the next step, the finishes before the hold are stored and known to be', async (t) => {
  const { turn, writes } = open(t, async (items) => items.map(({ hold }) => ({ kind: hold > 10n ? 'insufficient_balance' : 'advanced' })))
  turn.noteStarted([{ ...finished(1), kind: 'tool_started' }])
  const bound = { promptTokens: 100, completionTokens: 0 }
  const entries = entriesOf(2, 'x'.repeat(maxBytes))
  assert.equal(await writes.beforeStep(turn, { entries, usageSoFar: noUsage, boundSoFar: noUsage, toolCallsSoFar: 0, bound }), false)
  assert.equal(turn.neededHold, 100n)
  assert.equal(turn.callUnknown, false, 'the finish of the call was in the first transaction')
  assert.equal(turn.admitted.hold, 10n)
})

void test('unavailable.unknown: a step that the store does not take is abandoned at the deadline, so that the turn can end and release its hold', async (t) => {
  let tries = 0
  const { turn, writes } = open(
    t,
    async () => {
      if (++tries === 3) turn.stop('deadline')
      throw new StoreUnavailable('not in time')
    },
    60_000,
  )
  assert.equal(await writes.journal(turn, entriesOf(1), false), false)
  assert.equal(tries, 3)
})

void test('billing.tool-price: before priced calls, the hold grows to what the steps used and the calls may cost, and after them to that and the next step', async (t) => {
  const holds: bigint[] = []
  const { turn, writes } = open(t, async (items) => {
    holds.push(...items.map(({ hold }) => hold))
    return items.map(() => ({ kind: 'advanced' }))
  })
  const usageSoFar = plainTokens(4, 2)
  const boundSoFar = { promptTokens: 8, completionTokens: 2 }
  const spent = { usageSoFar, boundSoFar, toolCallsSoFar: 0 }
  assert.equal(await writes.beforeCalls(turn, entriesOf(1), { ...spent, callsPrice: 0 }), true)
  assert.equal(await writes.beforeCalls(turn, entriesOf(1), { ...spent, callsPrice: 30 }), true)
  assert.equal(
    await writes.beforeStep(turn, { entries: [], ...spent, toolCallsSoFar: 30, bound: { promptTokens: 20, completionTokens: 2 } }),
    true,
  )
  assert.deepEqual(holds, [10n, 6n + 30n, 6n + 30n + 22n])
})

void test('billing.tool-price: tokens that a provider reported beyond their bound do not use the hold of the tool calls', async (t) => {
  const holds: bigint[] = []
  const { turn, writes } = open(t, async (items) => {
    holds.push(...items.map(({ hold }) => hold))
    return items.map(() => ({ kind: 'advanced' }))
  })
  const spent = { usageSoFar: plainTokens(1000, 0), boundSoFar: { promptTokens: 8, completionTokens: 2 } }
  await writes.beforeCalls(turn, [], { ...spent, toolCallsSoFar: 0, callsPrice: 30 })
  await writes.beforeCalls(turn, [], { ...spent, toolCallsSoFar: 30, callsPrice: 5 })
  assert.deepEqual(holds, [10n + 30n, 10n + 30n + 5n])
})
