/**
 * One store for all engines of a simulation: the real statements and the real grouped commit on an in-memory database, in this thread. The
 * simulation decides what happens between an engine and its store: when a call arrives, which calls are committed together, when the
 * response arrives, and whether either is lost. Between the statements of an admission and its commit, any number of events may happen
 * (`turn.durable-first`). Every commit is compared with the store model.
 */
import { isDeepStrictEqual } from 'node:util'
import { verify } from '../../src/store/queries/invariants.ts'
import { reads } from '../../src/store/queries/reads.ts'
import type { Reads } from '../../src/store/queries/reads.ts'
import { fromWire, toWire } from '../../src/store/sqlite/protocol.ts'
import type { EarlyAnswer, WireOutcome } from '../../src/store/sqlite/protocol.ts'
import { storeOver } from '../../src/store/sqlite/sqlite.ts'
import type { OnEarlyOutcome } from '../../src/store/sqlite/store-thread.ts'
import type { AdmittedTurn, Lease } from '../../src/store/turn-records.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Sql } from '../../src/store/sql.ts'
import type { Store } from '../../src/store/store.ts'
import type { Random } from '../chaos/random.ts'
import type { Accuse, Attempt, StoreModel, Moment } from './store-model.ts'
import type { SimulatedDatabase } from './simulated-database.ts'

/** The process run that makes a call. */
export type Asking = {
  place: number
  alive: boolean
  /** The process has shut down regularly: its earlier calls are still executed. */
  closed: boolean
  /** Pending responses of an embedded store, in order. */
  answers: (() => void)[]
  /** Faults for the next calls of an operation. */
  storeFaults: { operation: string; when: 'before' | 'after'; times: number }[]
}

type Call = {
  id: number
  of: Asking
  operation: string
  items: unknown[]
  fault: 'before' | 'after' | undefined
  resolve(outcomes: WireOutcome[]): void
  onEarly: OnEarlyOutcome | undefined
  /** What was reported before the commit and has arrived, by position. */
  early: Map<number, { outcome: WireOutcome; attempt: Attempt }>
  isAnswered: boolean
}

export type SimulatedStoreOptions = {
  database: SimulatedDatabase
  storeModel: StoreModel
  accuse: Accuse
  random: Random
  /**
   * Embedded: one process, whose thread takes all waiting calls and responds in order. Shared: several processes, each call on a separate
   * connection.
   */
  mode: 'embedded' | 'shared'
  moment(): Moment
  /** Schedules an event, in the process `asking` or, without it, in the store. */
  later(asking: Asking | undefined, label: string, act: () => void | Promise<void>): void
}

/** A copy, because a thread does not see what its caller changes later. A deep clone costs more than the statements. */
const copyOf = (item: unknown): unknown => (typeof item === 'object' ? { ...item } : item)

const turnOf = (outcome: WireOutcome): AdmittedTurn => (outcome as { value: { turn: AdmittedTurn } }).value.turn

const away: WireOutcome = { error: toWire(new StoreUnavailable('the store is away')) }

export function createSimulatedStore({ database, storeModel, accuse, random, mode, moment, later }: SimulatedStoreOptions) {
  const { hot, sql, writer } = database
  let waiting: Call[] = []
  /** Calls that are committed and whose response has not been delivered. */
  const answering = new Set<Call>()
  /** An embedded store whose statements have succeeded and whose commit is being flushed. */
  let flushing: Asking | undefined
  let lastId = 0
  const listeners = new Map<Asking, (message: string) => void>()
  database.begin(moment)

  /** Each message reaches each process, late, in any order, or not at all. */
  const messages = (of: Asking): Store['messages'] => ({
    onMessage: (listener) => void listeners.set(of, listener),
    async send(list) {
      for (const message of list)
        for (const [to, listener] of listeners)
          if (to.alive && random.chance(0.8)) later(to, `${to.place} message`, () => listener(message))
    },
  })

  function call(of: Asking, operation: string, items: unknown[], onEarly?: OnEarlyOutcome): Promise<WireOutcome[]> {
    if (of.closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    for (const item of items) if (['settle', 'fail', 'advance'].includes(operation)) checkDurable(operation, item as Lease)
    const fault = of.storeFaults.find((one) => one.times > 0 && (one.operation === 'any' || one.operation === operation))
    if (fault) fault.times--
    const { promise, resolve } = Promise.withResolvers<WireOutcome[]>()
    const state = { fault: fault?.when, resolve, onEarly, early: new Map(), isAnswered: false }
    const one: Call = { id: ++lastId, of, operation, items: items.map(copyOf), ...state }
    waiting.push(one)
    later(undefined, `${of.place} ${operation} arrives`, () => arrive(one))
    return promise
  }

  /** `turn.durable-first`: no write of a turn reaches the store before its admission is durable. */
  function checkDurable(operation: string, { requestId, fence }: Lease): void {
    const turn = storeModel.turns.get(requestId)
    if (!turn || turn.fence < fence) accuse('durable-first', `${operation} of ${requestId} at fence ${fence}, which is not stored`)
  }

  async function arrive(first: Call): Promise<void> {
    if (!waiting.includes(first)) return
    // The thread of an embedded store does nothing else until its commit has returned.
    if (flushing?.alive) return later(undefined, `${first.of.place} ${first.operation} arrives`, () => arrive(first))
    const together = mode === 'embedded' || random.chance(0.3)
    const group = together ? waiting : [first]
    if (!group.some(({ operation, fault }) => operation === 'admit' && fault !== 'before') || random.chance(0.3)) return commit(group)
    await reportEarly(group)
    if (mode === 'embedded') flushing = first.of
    later(undefined, `${first.of.place} commit is flushed`, () => {
      if (flushing === first.of) flushing = undefined
      // Without the calls of a process that has died.
      return commit(group.filter((one) => waiting.includes(one)))
    })
  }

  /** Runs the statements of a group without a commit, and reports what they return early. */
  async function reportEarly(group: Call[]): Promise<void> {
    const reported: EarlyAnswer[] = []
    const taken = group.filter(({ fault }) => fault !== 'before')
    await database.rehearse(() =>
      writer.answer(
        taken.map((one) => ({ ...one, items: one.items.map(copyOf) })),
        (answers) => void reported.push(...answers),
      ),
    )
    for (const { id, early } of reported) {
      const one = taken.find((call) => call.id === id)!
      const report = (): void => {
        if (!one.isAnswered) early.forEach(([index, outcome]) => deliverEarly(one, index, outcome))
      }
      if (mode === 'shared') later(one.of, `${one.of.place} admit is reported early`, report)
      else {
        one.of.answers.push(report)
        later(one.of, `${one.of.place} answers`, () => one.of.answers.shift()!())
      }
    }
  }

  function deliverEarly(one: Call, index: number, outcome: WireOutcome): void {
    one.early.set(index, { outcome, attempt: storeModel.reportedEarly(turnOf(outcome)) })
    one.onEarly?.(index, outcome)
  }

  /** The committed outcome; if the group of its early report has committed with the same turn, the object that was reported. */
  function finalOf(one: Call, index: number, outcome: WireOutcome, held: Set<WireOutcome>): WireOutcome {
    const early = one.early.get(index)
    if (!early) return outcome
    const isSame = held.has(outcome) && isDeepStrictEqual(outcome, early.outcome)
    storeModel.endedEarly(early.attempt, isSame)
    return isSame ? early.outcome : outcome
  }

  async function commit(group: Call[]): Promise<void> {
    waiting = waiting.filter((one) => !group.includes(one))
    const taken = group.filter(({ fault }) => fault !== 'before')
    const held = new Set<WireOutcome>()
    const answers = await writer.answer(taken, (early) =>
      early.forEach((answer) => answer.early.forEach(([, outcome]) => held.add(outcome))),
    )
    const at = moment()
    for (const [index, { operation, items }] of taken.entries())
      for (const [position, outcome] of answers[index]!.outcomes.entries())
        if ('value' in outcome) storeModel.committed(operation, items[position], outcome.value, at)
        else if (outcome.error.kind === 'fault') accuse('fault-of-ours', `${operation}: ${outcome.error.message}`)
    storeModel.compare(database.query('select request_id, state, run, attempt, fence from turns'))
    storeModel.compareSpending(database.query('select scope, span, starts_at, spent, held, unpaid from spending'))
    const reported = group.map((one) => ({
      one,
      outcomes: one.fault === undefined ? answers[taken.indexOf(one)]!.outcomes : one.items.map(() => away),
    }))
    for (const one of group) if (one.of.alive) answering.add(one)
    const tell = ({ one, outcomes }: (typeof reported)[number]): void => {
      answering.delete(one)
      one.isAnswered = true
      one.resolve(outcomes.map((outcome, index) => finalOf(one, index, outcome, held)))
    }
    if (mode === 'shared') {
      for (const answer of reported) later(answer.one.of, `${answer.one.of.place} ${answer.one.operation} answers`, () => tell(answer))
      return
    }
    // Whichever of these events runs first delivers the oldest response.
    const [{ of } = { of: undefined }] = group
    if (!of) return
    of.answers.push(() => reported.forEach(tell))
    later(of, `${of.place} answers`, () => of.answers.shift()!())
  }

  async function ask(of: Asking, operation: string, item: unknown): Promise<unknown> {
    const [outcome] = await call(of, operation, [item])
    if ('error' in outcome!) throw fromWire(outcome.error)
    return outcome!.value
  }

  function read(of: Asking, item: unknown): Promise<unknown> {
    const { name, args } = item as { name: keyof Reads; args: unknown[] }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    later(of, `${of.place} reads ${name}`, () =>
      (reads[name].run as (sql: Sql, ...rest: unknown[]) => Promise<unknown>)(sql, ...args).then(resolve, reject),
    )
    return promise
  }

  return {
    /** The store as an engine sees it. */
    open(of: Asking): Store {
      if (mode === 'embedded') {
        hot.endAllLeases()
        storeModel.endAllLeases()
      }
      const close = async (): Promise<void> => undefined
      const reader = { ask: (_operation: string, item: unknown) => read(of, item), close }
      const thread = {
        call: (operation: string, items: unknown[], onEarly?: OnEarlyOutcome) => call(of, operation, items, onEarly),
        close,
      }
      const threads = { writer: { ...thread, ask: (operation: string, item: unknown) => ask(of, operation, item) }, reader }
      const opened = storeOver({
        ...threads,
        searcher: reader,
        reporter: reader,
        lock: { close: () => undefined },
        clockOffset: new Float64Array(1),
      })
      return mode === 'shared' ? { ...opened, messages: messages(of) } : opened
    },
    /** A process died. Some of its calls may already be on their way and are still executed, but no one receives the responses. */
    died(of: Asking): void {
      for (const one of answering) if (one.of === of) answering.delete(one)
      waiting = waiting.filter((one) => one.of !== of || (mode === 'shared' && random.chance(0.5)))
    },
    hasWaiting: (of: Asking): boolean => waiting.some((one) => one.of === of) || answering.values().some((one) => one.of === of),
    failCommits: database.failCommits,
    get idle() {
      return waiting.length === 0 && answering.size === 0
    },
    /** Reports each broken invariant. */
    async verify(): Promise<void> {
      for (const { id, name, rows: broken } of await verify(sql))
        if (broken.length > 0)
          accuse(id, `${name}: ${JSON.stringify(broken, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))}`)
    },
    query: database.query,
    close: database.end,
  }
}
