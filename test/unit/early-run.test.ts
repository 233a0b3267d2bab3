/**
 * `turn.durable-first` at the turn module: the real module on a real store whose admission is reported early and whose final answer the test
 * holds up, replaces or loses.
 */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Agents, GenerationRequest, GenerationResult } from '../../src/agent/agent.ts'
import { noFailpoints } from '../../src/failpoints.ts'
import { createIds } from '../../src/ids.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { Metrics } from '../../src/observability/metrics.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Each, Later, Store } from '../../src/store/store.ts'
import type { AdmissionOutcome, Admitted } from '../../src/store/turn-records.ts'
import { EarlyRuns } from '../../src/turn/early-run.ts'
import type { Run } from '../../src/turn/early-run.ts'
import type { BeginResult } from '../../src/turn/outcome.ts'
import { createTurns } from '../../src/turn/turn.ts'
import { Bench } from '../store/conformance.ts'
import { openOwnStore } from '../support/own-store.ts'
import { plainTokens } from '../support/token-kinds.ts'

type Answers = (Each<AdmissionOutcome> | Later)[]

const usage = plainTokens(20, 5)
const reply: GenerationResult = {
  kind: 'reply',
  finishReason: 'stop',
  text: 'good day',
  usage,
  usageEstimated: false,
  toolCallsPrice: 0,
  citations: [],
}
const journal = [{ step: 1, part: 0, kind: 'model' as const, payload: '{}' }]
const spent = { usageSoFar: usage, boundSoFar: usage, toolCallsSoFar: 0 }
const bound = { promptTokens: 1, completionTokens: 1 }

/**
 * `answers.resolve` gives the final answer of the first admission, after it was reported early. `calls`: the runs that have started, each
 * with what its agent was given. `writes`: the writes of turns that have reached the store. `ended`: the ends that were counted.
 */
async function openModule(t: TestContext, generate: (request: GenerationRequest, call: number) => Promise<GenerationResult>) {
  const store = await openOwnStore(t)
  const bench = await Bench.make(store, 10n ** 12n)
  const answers = Promise.withResolvers<(stored: Answers) => Answers>()
  const reported = Promise.withResolvers<void>()
  const calls: GenerationRequest[] = []
  const writes: string[] = []
  const ended: string[] = []
  let isFirst = true
  const early: Store = {
    ...store,
    async admitMany(items, onEarly) {
      const outcomes = await store.admitMany(items)
      if (!isFirst) return outcomes
      isFirst = false
      for (const [index, outcome] of outcomes.entries()) if (outcome.kind === 'admitted') onEarly!(index, outcome)
      reported.resolve()
      return (await answers.promise)(outcomes)
    },
    advanceMany: (items) => (writes.push('advance'), store.advanceMany(items)),
    settleMany: (items) => (writes.push('settle'), store.settleMany(items)),
    failMany: (items) => (writes.push('fail'), store.failMany(items)),
    releaseLeases: (leases) => (writes.push('release'), store.releaseLeases(leases)),
  }
  const agents: Agents = {
    generate(request) {
      calls.push(request)
      return generate(request, calls.length)
    },
  }
  const metrics: Metrics = { ...createMetrics(), turnEnded: ({ outcome }) => void ended.push(outcome) }
  const log = pino({ level: 'silent' })
  const turns = createTurns({ store: early, agents, failpoints: noFailpoints, log, metrics, settings: { maxTurns: 1 }, ...createIds() })
  const { apiKeyId, agentId } = bench
  const begin = (key: string, externalUserId = 'ann'): Promise<BeginResult> =>
    turns.begin({ apiKeyId, agentId, idempotencyKey: key, externalUserId, message: 'hello', traceparent: null, shareOf: 'ann' })
  return { store, bench, answers, reported: reported.promise, calls, writes, ended, turns, begin }
}

const isPending = async (promise: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([promise.then(() => false), wait(30, true)])) === true

void test('turn.durable-first: the model is called while the admission is flushed, and nothing leaves and nothing is written before it is durable', async (t) => {
  const wrote: boolean[] = []
  const { answers, reported, calls, writes, turns, begin, bench } = await openModule(t, async (request) => {
    request.onDelta('go')
    request.onDelta('od ')
    wrote.push(await request.beforeCalls(journal, { ...spent, callsPrice: 0 }))
    wrote.push(await request.writeJournal([{ ...journal[0]!, part: 1, kind: 'tool_finished' }], true))
    wrote.push(await request.beforeStep({ ...spent, entries: [], bound }))
    request.onDelta('day')
    return reply
  })
  const beginning = begin('one')
  await reported
  assert.equal(calls.length, 1, 'the model is called')
  assert.ok(await isPending(beginning), 'no caller has the turn')
  assert.deepEqual([turns.running, turns.traceOf(calls[0]!.requestId)], [0, undefined], 'it is not a turn of this process yet')
  assert.deepEqual([writes, wrote], [[], []], 'no journal, so no tool call either')
  answers.resolve((stored) => stored)
  const started = await beginning
  assert.ok(started.kind === 'running')
  assert.equal(turns.running, 1)
  const heard: string[] = []
  started.turn.listen({ onText: (text) => heard.push(text), onReset: () => heard.push('reset') })
  assert.equal((await started.turn.end).kind, 'completed')
  assert.deepEqual(heard, ['go', 'od ', 'day'], 'as the model has sent it')
  assert.deepEqual(wrote, [true, true, true])
  assert.deepEqual(writes, ['advance', 'advance', 'advance', 'settle'])
  assert.equal(calls.length, 1)
  await bench.verify()
})

void test('turn.durable-first: a model that answers before the commit is not settled before it', async (t) => {
  const { answers, reported, writes, turns, begin, bench, ended } = await openModule(t, async () => reply)
  const beginning = begin('one')
  await reported
  assert.ok(await isPending(beginning))
  assert.deepEqual([writes, ended], [[], []])
  answers.resolve((stored) => stored)
  const started = await beginning
  assert.ok(started.kind === 'running' && (await started.turn.end).kind === 'completed')
  assert.deepEqual([writes, ended], [['settle'], ['completed']])
  while (turns.running > 0) await wait(1)
  await bench.verify()
})

/** The only slot of the module is free, and not twice: of two messages of others, the first runs, and the second finds no slot. */
async function hasOneSlot(begin: (key: string, externalUserId: string) => Promise<BeginResult>): Promise<void> {
  const [one, other] = await Promise.all([begin('of bob', 'bob'), begin('of eve', 'eve')])
  assert.deepEqual([one.kind, other], ['running', { kind: 'refused', code: 'service_unavailable' }])
}

/** Runs until it is aborted, and tries every write then. */
async function untilAborted(request: GenerationRequest, wrote: boolean[]): Promise<GenerationResult> {
  await new Promise((resolve) => request.signal.addEventListener('abort', resolve))
  wrote.push(await request.beforeCalls(journal, { ...spent, callsPrice: 0 }), await request.writeJournal(journal, false))
  wrote.push(await request.beforeStep({ ...spent, entries: [], bound }))
  return { kind: 'stopped', text: 'good', usage, usageEstimated: false, toolCallsPrice: 0, citations: [] }
}

void test('turn.durable-first: an admission that was not stored aborts its model call, and nothing is written, counted or kept', async (t) => {
  const wrote: boolean[] = []
  const { answers, reported, calls, writes, turns, begin, ended } = await openModule(t, (request, call) =>
    call === 1 ? untilAborted(request, wrote) : Promise.resolve(reply),
  )
  const beginning = begin('one')
  await reported
  answers.resolve((stored) => stored.map(() => ({ kind: 'error', error: new StoreUnavailable('the disk is full') })))
  assert.deepEqual(await beginning, { kind: 'refused', code: 'service_unavailable' })
  assert.equal(calls[0]!.signal.aborted, true)
  while (wrote.length < 3) await wait(1)
  await wait(20)
  assert.deepEqual(wrote, [false, false, false])
  assert.deepEqual([writes, ended, turns.running], [[], [], 0])
  await hasOneSlot(begin)
})

void test('turn.durable-first: an admission that another transaction stores runs again from the start, and only this run counts', async (t) => {
  const wrote: boolean[] = []
  const { answers, reported, calls, writes, turns, begin, ended, bench } = await openModule(t, async (request, call) => {
    if (call === 1) {
      request.onDelta('never sent')
      return untilAborted(request, wrote)
    }
    request.onDelta('good day')
    return reply
  })
  const beginning = begin('one')
  await reported
  answers.resolve((stored) => stored.map((outcome) => structuredClone(outcome)))
  const started = await beginning
  assert.ok(started.kind === 'running')
  const heard: string[] = []
  started.turn.listen({ onText: (text) => heard.push(text), onReset: () => heard.push('reset') })
  const end = await started.turn.end
  assert.ok(end.kind === 'completed')
  assert.deepEqual([end.reply.content, heard.join('')], ['good day', 'good day'])
  assert.deepEqual([calls.length, calls[0]!.signal.aborted, calls[1]!.signal.aborted], [2, true, false])
  while (wrote.length < 3 || turns.running > 0) await wait(1)
  assert.deepEqual([wrote, writes, ended], [[false, false, false], ['settle'], ['completed']])
  assert.equal((await begin('one')).kind, 'replay')
  await hasOneSlot(begin)
  while (turns.running > 0) await wait(1)
  await bench.verify()
})

void test('turn.durable-first: an admission that commits after the drain has ended leaves its turn to another process', async (t) => {
  const wrote: boolean[] = []
  const { answers, reported, calls, writes, turns, begin } = await openModule(t, (request) => untilAborted(request, wrote))
  const beginning = begin('one')
  await reported
  await turns.drain(0)
  assert.equal(calls[0]!.signal.aborted, true, 'aborted by the drain, before the commit returns')
  answers.resolve((stored) => stored)
  assert.deepEqual(await beginning, { kind: 'refused', code: 'service_unavailable' })
  while (wrote.length < 3) await wait(1)
  assert.deepEqual([wrote, writes, turns.running], [[false, false, false], ['release'], 0])
})

void test('turn.durable-first: after a void run none starts early for a while, then one at a time, until one is confirmed', (t) => {
  const pauseMs = 60
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const early = new EarlyRuns(pauseMs)
  const run = { turn: { confirm: () => undefined, withdraw: () => undefined }, ended: Promise.resolve() } as unknown as Run
  const [one, other] = [{ kind: 'admitted' }, { kind: 'admitted' }] as Admitted[]
  const start = () => early.start(one!, () => run)
  const [first, second] = [start(), start()]
  assert.ok(first && second, 'any number while admissions are stored')
  assert.equal(first.confirm(other!), undefined)
  first.withdraw()
  assert.equal(start(), undefined)
  second.withdraw()
  now += pauseMs
  const tried = start()
  assert.ok(tried)
  assert.equal(start(), undefined, 'one at a time')
  tried.withdraw()
  assert.equal(start(), undefined, 'the pause begins again')
  now += pauseMs
  assert.equal(start()!.confirm(one!), run)
  assert.ok(start() && start())
  early.stop()
  assert.equal(start(), undefined, 'none after the end')
})
