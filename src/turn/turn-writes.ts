/**
 * The writes of a running turn: its steps and its hold, its settlement, and its end without a reply. Each is repeated until the store has
 * answered, with the turn's own fence and in batches with those of other turns. Does not notify callers.
 */
import type { NextStep, Spent } from '../agent/agent.ts'
import { boundCost, cost, larger, smaller } from '../ledger/ledger.ts'
import type { Amount } from '../ledger/ledger.ts'
import { bytesOf, entryBytes, withinBudget } from '../store/budget.ts'
import { StoreUnavailable } from '../store/store.ts'
import type {
  Advance,
  AdvanceOutcome,
  JournalEntry,
  Settlement,
  SettlementOutcome,
  StoredReply,
  TurnFailure,
  TurnFailureOutcome,
} from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import { Batcher } from './batcher.ts'
import { underOwnFence } from './live-turn.ts'
import type { Fenced, LiveTurn, StopReason } from './live-turn.ts'
import type { StoreWarnings } from './store-warnings.ts'
import { storeRetryMs } from './turn-settings.ts'

/**
 * Each write returns false, or undefined, if another process has claimed the turn or this process drains. The first three
 * also return false after the turn's deadline, and the first two if a spend limit or the balance does not cover what they hold.
 */
export interface TurnWrites {
  /** `billing.hold`: stores the finished step in the journal and extends the hold for the next one, both or neither. */
  beforeStep(turn: LiveTurn, next: NextStep): Promise<boolean>
  /**
   * `billing.tool-price`: stores entries of the step in the journal and extends the hold to what its tool calls may cost, `callsPrice`, in
   * 10⁻⁸ USD; both or neither.
   */
  beforeCalls(turn: LiveTurn, entries: JournalEntry[], spent: Spent & { callsPrice: number }): Promise<boolean>
  /** Adds journal entries within a step, without a change of the hold. */
  journal(turn: LiveTurn, entries: JournalEntry[], finishedSideEffects: boolean): Promise<boolean>
  settle(turn: LiveTurn, settlement: Omit<Settlement, 'fence'>): Promise<StoredReply | undefined>
  fail(turn: LiveTurn, end: Omit<TurnFailure, 'requestId' | 'fence'>): Promise<boolean>
  /** The number of items that wait for the next batch, by kind of write. */
  waiting(): { advance: number; settlement: number; failure: number }
}

export function createTurnWrites({ store, warnings }: { store: Store; warnings: StoreWarnings }): TurnWrites {
  const ofOneTurn = ({ requestId }: { requestId: string }): string[] => [requestId]
  const advances = new Batcher<Advance, AdvanceOutcome>((items) => store.advanceMany(items), ofOneTurn, bytesOf.advance)
  const settlements = new Batcher<Settlement, SettlementOutcome>((items) => store.settleMany(items), ofOneTurn, bytesOf.settle)
  const failures = new Batcher<TurnFailure, TurnFailureOutcome>((items) => store.failMany(items), ofOneTurn, bytesOf.fail)

  /**
   * Many or long entries are stored in several transactions, the hold with the last one. A crash between them is a crash within the step:
   * no call of it is made before the starts of all are stored, and a call whose finish is stored is not made again (`tools.journal`).
   */
  async function advance(turn: LiveTurn, asked: Omit<Advance, 'requestId' | 'fence'>): Promise<boolean> {
    turn.noteStarted(asked.entries)
    const parts = withinBudget(asked.entries, entryBytes)
    const last = parts.pop()!
    for (const entries of parts)
      if (!(await advanceOnce(turn, { entries, hold: turn.admitted.hold, finishedSideEffects: false }))) return false
    return advanceOnce(turn, { ...asked, entries: last })
  }

  /**
   * The hold comes first here, alone if the entries are many: if a spend limit or the balance does not cover it, nothing was stored, so no start is in the
   * journal of a call that is not made.
   */
  async function startCalls(turn: LiveTurn, entries: JournalEntry[], hold: Amount): Promise<boolean> {
    const isLarge = withinBudget(entries, entryBytes).length > 1
    if (isLarge && hold > turn.admitted.hold && !(await advanceOnce(turn, { entries: [], hold, finishedSideEffects: false }))) return false
    const isStored = await advance(turn, { entries, hold, finishedSideEffects: false })
    if (!isStored && (turn.neededHold > 0n || turn.exceeded)) turn.noteNotStarted(entries)
    return isStored
  }

  async function advanceOnce(turn: LiveTurn, asked: Omit<Advance, 'requestId' | 'fence'>): Promise<boolean> {
    const { requestId } = turn
    const outcome = await untilStored(turn, (fence) => advances.push({ requestId, fence, ...asked }), ['drain', 'deadline'])
    if (outcome?.kind === 'advanced') {
      turn.noteEnded(asked.entries)
      turn.admitted.hold = asked.hold
    }
    if (outcome?.kind === 'insufficient_balance') turn.neededHold = asked.hold
    if (outcome?.kind === 'spend_limit_exceeded') turn.exceeded = outcome
    if (outcome?.kind === 'lost') turn.stop('lease_lost')
    return outcome?.kind === 'advanced'
  }

  /**
   * Repeats a write until the store responds, so that an outage does not lose a generated reply. The outcome is the same if an earlier
   * attempt was stored. Returns undefined if the turn was stopped for one of the reasons in `until`: during a drain, and for a step also
   * after the deadline, so that the turn ends and its hold is released as soon as the store responds.
   *
   * `turn.durable-first`: every write of a turn passes here, and every tool call is preceded by one. None is made before the admission is
   * durable.
   */
  async function untilStored<Outcome extends { kind: string }>(
    turn: LiveTurn,
    push: Fenced<Outcome>,
    until: StopReason[] = ['drain'],
  ): Promise<Outcome | undefined> {
    if (!(await turn.durable)) return undefined
    for (let tries = 0; ; tries++) {
      // Does not stop after a lost lease: an earlier attempt may have been stored although its response was lost. Only the store knows.
      if (turn.stopReason !== undefined && until.includes(turn.stopReason)) return undefined
      try {
        const outcome = await underOwnFence(turn, push)
        warnings.over()
        return outcome
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        warnings.warn('could not store the result of a turn, retrying', error.message)
        await new Promise((resolve) => setTimeout(resolve, storeRetryMs[Math.min(tries, storeRetryMs.length - 1)]))
      }
    }
  }

  return {
    beforeStep(turn, { entries, bound, ...spent }) {
      const { price, hold } = turn.admitted
      const needed = spentBy(turn, spent) + boundCost(bound, price)
      return advance(turn, { entries, hold: larger(hold, needed), finishedSideEffects: false })
    },
    beforeCalls(turn, entries, { callsPrice, ...spent }) {
      const { hold } = turn.admitted
      // Calls without a price change nothing: the hold of the step covers what it generated.
      const needed = callsPrice > 0 ? spentBy(turn, spent) + BigInt(callsPrice) : 0n
      return startCalls(turn, entries, larger(hold, needed))
    },
    journal: (turn, entries, finishedSideEffects) => advance(turn, { entries, hold: turn.admitted.hold, finishedSideEffects }),
    async settle(turn, settlement) {
      const outcome = await untilStored(turn, (fence) => settlements.push({ ...settlement, fence }))
      return outcome?.kind === 'settled' ? outcome.reply : undefined
    },
    async fail(turn, end) {
      const { requestId } = turn
      const outcome = await untilStored(turn, (fence) => failures.push({ requestId, fence, ...end }))
      return outcome?.kind === 'ended'
    },
    waiting: () => ({ advance: advances.waiting, settlement: settlements.waiting, failure: failures.waiting }),
  }
}

/**
 * What the steps so far cost. Their tokens never cost more than what was held for them, whatever a provider reports (`billing.once`). Steps of
 * an earlier run were held then, and are held again now (`retry.continues`).
 */
function spentBy({ admitted: { price, hold } }: LiveTurn, { usageSoFar, boundSoFar, toolCallsSoFar }: Spent): Amount {
  const toolCalls = BigInt(toolCallsSoFar)
  const heldForTokens = larger(hold - toolCalls, boundCost(boundSoFar, price))
  return smaller(cost(usageSoFar, price), heldForTokens) + toolCalls
}
