/**
 * The turn path on PostgreSQL. Each operation calls one function of migrations/*-turn-path.sql, with a batch as JSON in and its outcomes out.
 * Items that must not share a call are sent one after the other. A batch that fails as a whole is sent again item by item, so that one bad
 * row does not affect the others.
 */
import { randomUUID } from 'node:crypto'
import type { Failpoints } from '../../failpoints.ts'
import { bytesOf, withinBudget } from '../budget.ts'
import { StoreUnavailable } from '../store.ts'
import type {
  Admission,
  AdmissionOutcome,
  Advance,
  AdvanceOutcome,
  Claims,
  Settlement,
  SettlementOutcome,
  TurnFailure,
  TurnFailureOutcome,
} from '../turn-records.ts'
import type { Each, Later, SharedStore, WindowSpent } from '../store.ts'
import { commitBetween } from './commit-points.ts'
import type { CommitPoints } from './commit-points.ts'
import type { Connections, Purpose } from './connections.ts'
import { isConnectionLost, isLockTimeout } from './failure.ts'
import {
  readAdmission,
  readAdvance,
  readClaims,
  readSettlement,
  writeAdmissions,
  writeAdvances,
  writeFailures,
  writeLeases,
  writeSettlements,
} from './wire.ts'
import type { AdmissionAnswer, AdvanceAnswer, ClaimsAnswer, SettlementAnswer } from './wire.ts'
import { readSpent, writeSpends } from './window-wire.ts'
import type { WindowAnswer } from './window-wire.ts'

/** How long a call may take, including repetitions while its outcome is unknown, in milliseconds. */
export type Deadlines = {
  /** A caller waits: without an answer by then, the store counts as unavailable (fault.postgres-unreachable). */
  admissionMs: number
  /** The generated reply is kept, and the turn tries again as long as it holds its lease. */
  settlementMs: number
  /** `rate.fail-closed` */
  windowMs: number
  /** A read that must answer within milliseconds. */
  lookUpMs: number
  searchMs: number
  /** A write of the admin API, which may wait for another one for half of this. */
  writeMs: number
}

export type TurnPathOptions = { connections: Connections; failpoints: Failpoints; named: boolean; deadlines: Deadlines }

export type TurnPath = Pick<
  SharedStore,
  'admitMany' | 'settleMany' | 'failMany' | 'advanceMany' | 'renewLeases' | 'releaseLeases' | 'claimOrphans' | 'spendWindows'
>

// Another process was faster. By the second attempt it has finished, or will soon.
const pauseMs = 20
// Long enough to answer a full queue, short enough that the next request asks the database itself.
const awayMs = 100

export function createTurnPath({ connections, failpoints, named, deadlines }: TurnPathOptions): TurnPath {
  /**
   * One call of a function in one transaction, with failpoints around its commit if there are any. `onEarly` receives the outcomes before the
   * commit; the same object is returned unless it was repeated.
   */
  function call<Answer>(
    purpose: Purpose,
    name: TurnPathFunction,
    values: unknown[],
    deadlineMs: number,
    {
      around = commitPoints[name],
      onEarly,
    }: { around?: CommitPoints | undefined; onEarly?: ((outcomes: Answer) => void) | undefined } = {},
  ): Promise<Answer> {
    const places = values.map((_, index) => `$${index + 1}`).join(', ')
    const query = { text: `select ${name}(${places}) as outcomes`, values, ...(named ? { name } : {}) }
    const points = failpoints.spec === '' ? undefined : around
    const ask = withoutFlush.has(name) ? connections.ask : connections.askDurably
    return ask(purpose, deadlineMs, async (connection) => {
      if (!points && onEarly) return (await connection.queryEarly(query, ({ outcomes }) => onEarly(outcomes as Answer))).rows[0].outcomes
      if (!points) return (await connection.query(query)).rows[0].outcomes
      await connection.query('begin')
      const { outcomes } = (await connection.query(query)).rows[0]
      await commitBetween(points, { connection, failpoints, key: name, onWritten: onEarly && (() => onEarly(outcomes)) })
      return outcomes
    })
  }

  /**
   * Outcomes in the order of the items. `keysOf` returns keys that a call may contain only once. `read` converts an outcome, or returns
   * undefined to repeat the item. `onEarly`: receives the outcomes of the first call for an item, before its commit.
   */
  async function each<Item, Outcome, Answer>(
    items: Item[],
    { purpose, name, deadlineMs, keysOf, lockedBy, bytesOf: size, write, read }: Batch<Item, Outcome, Answer>,
    onEarly?: (index: number, outcome: Outcome | undefined) => unknown,
  ): Promise<Each<Outcome>[]> {
    const outcomes: (Each<Outcome> | undefined)[] = items.map(() => undefined)
    const send = async (places: number[], early?: typeof onEarly): Promise<void> => {
      const sent = write(places.map((place) => items[place]!))
      const readAll = (answers: Answer[]): (Outcome | undefined)[] => places.map((place, index) => read(answers[index]!, items[place]!))
      let reported: { answers: Answer[]; outcomes: (Outcome | undefined)[] } | undefined
      const report = (answers: Answer[]): void => {
        if (reported) return
        try {
          reported = { answers, outcomes: readAll(answers) }
        } catch {
          // The final answer, which is the same, cannot be read either, and fails the call. An error here would end the process.
          return
        }
        for (const [index, place] of places.entries()) early!(place, reported.outcomes[index])
      }
      const answers = await call<Answer[]>(purpose, name, sent, deadlineMs, { onEarly: early && report })
      const final = answers === reported?.answers ? reported.outcomes : readAll(answers)
      for (const [index, place] of places.entries()) outcomes[place] = final[index]
    }
    const keep = (places: number[], error: unknown): void => {
      for (const place of places) outcomes[place] = { kind: 'error', error: error as Error }
    }
    const until = performance.now() + deadlineMs
    /**
     * One group after the other, because each one that waits occupies a connection. Other batches wait for this one, so there is a limit for
     * all of them, and a database that is unavailable is asked once.
     */
    const sendApart = async (groups: Iterable<number[]>): Promise<void> => {
      let given: StoreUnavailable | undefined
      for (const group of groups) {
        if (performance.now() >= until + deadlineMs) given ??= new StoreUnavailable('the other items of the batch took too long')
        if (given) keep(group, given)
        else
          await send(group).catch((error: unknown) => {
            keep(group, error)
            if (error instanceof StoreUnavailable && !isLockTimeout(error)) given = error
          })
      }
    }
    for (let tries = 0, left = items.map((_, place) => place); left.length > 0; tries++) {
      if (tries > 1) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      if (tries > 0 && performance.now() >= until) {
        keep(left, new StoreUnavailable('other processes were first too often'))
        break
      }
      const waves = wavesOf(left, (place) => keysOf(items[place]!))
      for (const wave of waves.flatMap((places) => withinBudget(places, (place) => size(items[place]!)))) {
        try {
          await send(wave, tries === 0 ? onEarly : undefined)
        } catch (error) {
          if (isLockTimeout(error) && lockedBy) {
            // Another transaction holds the row of one owner, so the others need not wait for it.
            const groups = Map.groupBy(wave, (place) => lockedBy(items[place]!))
            if (groups.size > 1) await sendApart(groups.values())
            else keep(wave, error)
          } else if (error instanceof StoreUnavailable) {
            // If the database is unavailable, it is unavailable for all items, so only the first one waits.
            keep(
              left.filter((place) => outcomes[place] === undefined),
              error,
            )
            break
            // One bad row does not affect the others. It is tried once more on its own.
          } else await sendApart(wave.map((place) => [place]))
        }
      }
      left = left.filter((place) => outcomes[place] === undefined)
    }
    return outcomes as Each<Outcome>[]
  }

  const { admissionMs, settlementMs, windowMs } = deadlines
  const admission: Batch<Admission, AdmissionOutcome | Later, AdmissionAnswer> = {
    purpose: 'admission',
    name: 'admit_v2',
    deadlineMs: admissionMs,
    keysOf: ({ apiKeyId, externalUserId, idempotencyKey }) => [`${apiKeyId} user ${externalUserId}`, `${apiKeyId} key ${idempotencyKey}`],
    lockedBy: ({ ownerId, agentId }) => ownerId ?? agentId,
    bytesOf: bytesOf.admit,
    write: writeAdmissions,
    read: readAdmission,
  }
  let awayUntil = 0
  /** The holder of a claim that had no answer. The next claim repeats it with the same holder and counts no second attempt. */
  const unanswered: { fresh?: string; suspect?: string } = {}
  return {
    async admitMany(items, onEarly) {
      // Requests that waited behind a batch for an unavailable database have waited long enough.
      if (performance.now() < awayUntil)
        return items.map(() => ({ kind: 'error', error: new StoreUnavailable('the database was away just now') }))
      const outcomes = await each(
        items,
        admission,
        onEarly && ((index, outcome) => outcome?.kind === 'admitted' && onEarly(index, outcome)),
      )
      if (outcomes.every((outcome) => outcome.kind === 'error' && isConnectionLost(outcome.error.cause)))
        awayUntil = performance.now() + awayMs
      return outcomes
    },
    settleMany: (items) =>
      each<Settlement, SettlementOutcome, SettlementAnswer>(items, {
        purpose: 'settlement',
        name: 'settle_v2',
        deadlineMs: settlementMs,
        keysOf: ({ requestId }) => [requestId],
        bytesOf: bytesOf.settle,
        write: writeSettlements,
        read: readSettlement,
      }),
    failMany: (items) =>
      each<TurnFailure, TurnFailureOutcome, TurnFailureOutcome>(items, {
        purpose: 'settlement',
        name: 'fail_v1',
        deadlineMs: settlementMs,
        keysOf: ({ requestId }) => [requestId],
        bytesOf: bytesOf.fail,
        write: writeFailures,
        read: (answer) => answer,
      }),
    advanceMany: (items) =>
      each<Advance, AdvanceOutcome, AdvanceAnswer>(items, {
        purpose: 'settlement',
        name: 'advance_v1',
        deadlineMs: settlementMs,
        keysOf: ({ requestId }) => [requestId],
        bytesOf: bytesOf.advance,
        write: writeAdvances,
        read: readAdvance,
      }),
    async renewLeases(leases, leaseMs) {
      const lost = new Set(await call<string[]>('settlement', 'renew_v1', [writeLeases(leases), leaseMs], settlementMs))
      return leases.filter(({ requestId }) => lost.has(requestId))
    },
    async releaseLeases(leases) {
      await call('settlement', 'renew_v1', [writeLeases(leases), null], settlementMs, { around: releasePoints })
    },
    async claimOrphans({ which, limit, leaseMs, running }): Promise<Claims> {
      const holder = unanswered[which] ?? randomUUID()
      delete unanswered[which]
      try {
        return readClaims(await call<ClaimsAnswer>('settlement', 'claim_v1', [which, limit, leaseMs, running, holder], settlementMs))
      } catch (error) {
        unanswered[which] = holder
        throw error
      }
    },
    async spendWindows(items): Promise<WindowSpent[]> {
      return (await call<WindowAnswer[]>('admission', 'spend_windows_v1', [writeSpends(items)], windowMs)).map(readSpent)
    },
  }
}

type TurnPathFunction = 'admit_v2' | 'settle_v2' | 'fail_v1' | 'advance_v1' | 'renew_v1' | 'claim_v1' | 'spend_windows_v1'

/** Their commits wait neither for the disk nor for a standby. */
const withoutFlush = new Set<TurnPathFunction>(['renew_v1', 'spend_windows_v1'])

/** The failpoints before and after the commit of these. */
const commitPoints: Partial<Record<TurnPathFunction, CommitPoints>> = {
  admit_v2: ['admit.before-commit', 'admit.after-commit'],
  settle_v2: ['settle.before-commit', 'settle.after-commit'],
  fail_v1: ['fail.before-commit', 'fail.after-commit'],
  advance_v1: ['advance.before-commit', 'advance.after-commit'],
  claim_v1: ['claim.before-commit', 'claim.after-commit'],
}
/** Leases are released by the function that renews them. */
const releasePoints: CommitPoints = ['give-up.before-commit', 'give-up.after-commit']

type Batch<Item, Outcome, Answer> = {
  purpose: Purpose
  name: TurnPathFunction
  deadlineMs: number
  keysOf(item: Item): string[]
  /** Groups items after a call timed out on a row lock. Each group is then sent on its own, because not all of them need that row. */
  lockedBy?(item: Item): string
  /** A call is bounded by the sum of these, so that it ends before its deadline. */
  bytesOf(item: Item): number
  /** The arguments of the function. */
  write(items: Item[]): (string | null)[]
  read(answer: Answer, item: Item): Outcome | undefined
}

/** Distributes the items over calls, in order, so that no call contains a key twice. */
function wavesOf(places: number[], keysOf: (place: number) => string[]): number[][] {
  const waves: { places: number[]; keys: Set<string> }[] = []
  for (const place of places) {
    const keys = keysOf(place)
    // After every wave that contains one of its keys, so that items with the same key keep their order.
    const after = waves.findLastIndex((wave) => keys.some((key) => wave.keys.has(key)))
    const wave = waves[after + 1] ?? waves[waves.push({ places: [], keys: new Set() }) - 1]!
    wave.places.push(place)
    for (const key of keys) wave.keys.add(key)
  }
  return waves.map((wave) => wave.places)
}
