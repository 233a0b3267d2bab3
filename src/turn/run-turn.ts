/**
 * Runs an admitted turn to its end: the agent generates, then the store settles the reply or ends the turn without one. The turn belongs to the
 * server and not to a connection, so it runs on when its caller has left.
 */
import type { Logger } from 'pino'
import type { Agents, Cause, Generated, GenerationResult } from '../agent/agent.ts'
import { TraceRecorder } from '../agent/trace-recorder.ts'
import type { Failpoints } from '../failpoints.ts'
import type { ReplyEnd } from '../finish-reason.ts'
import type { Ids } from '../ids.ts'
import type { Metrics } from '../observability/metrics.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { EncodedTrace, TurnFailure } from '../store/turn-records.ts'
import type { LiveTurn } from './live-turn.ts'
import { settlementOf } from './settlement.ts'
import type { TurnWrites } from './turn-writes.ts'

export type TurnRunnerOptions = {
  agents: Agents
  writes: TurnWrites
  failpoints: Failpoints
  log: Logger
  metrics: Metrics
  newId: Ids['newId']
  /** `trace.stored` */
  traces: boolean
}

/** The stored cause of a turn whose process ended during a tool call with side effects. Shown to the operator. */
const outcomeUnknown = 'a tool with side effects was called and its outcome is unknown'

type EndCause = Pick<TurnFailure, 'cause' | 'causeKind'> & Pick<Cause, 'logCause'>

const balanceRanOut: Cause = { cause: 'the balance does not cover the next step', causeKind: 'insufficient_balance' }
const limitReached: Cause = { cause: 'a spend limit does not allow the next step', causeKind: 'spend_limit_exceeded' }
const cancelRequested: EndCause = { cause: 'the turn was cancelled', causeKind: null }
const deadlineExceeded: Cause = { cause: 'the turn exceeded its deadline', causeKind: 'turn_timeout' }

const withOutcomeUnknown = ({ cause, logCause = cause }: EndCause): Cause => ({
  cause: `${cause}; ${outcomeUnknown}`,
  causeKind: 'tool_outcome_unknown',
  logCause: `${logCause}; ${outcomeUnknown}`,
})

/**
 * Returns a function that runs a turn. It resolves when the turn has ended here, and never rejects. `waitMs`: how long its message waited for
 * the admission.
 */
export function createTurnRunner({
  agents,
  writes,
  failpoints,
  log,
  metrics,
  newId,
  traces,
}: TurnRunnerOptions): (turn: LiveTurn, waitMs: number) => Promise<void> {
  return run

  async function run(turn: LiveTurn, waitMs: number): Promise<void> {
    let stored = false
    try {
      if (traces) turn.trace = new TraceRecorder(turn.admitted, waitMs)
      const result = await generate(turn)
      await failpoints.reach('model.done', turn.admitted.message)
      // `turn.durable-first`
      stored = (await turn.durable) && (await end(turn, result))
    } catch (error) {
      // The turn stays `running` in the store. Its lease expires, and recovery ends it.
      log.error({ err: error, request_id: turn.requestId }, 'turn interrupted: internal error; recovery will finish it')
    }
    if (!(await turn.durable)) return
    if (!stored) metrics.turnEnded({ outcome: 'lost' }, turn)
    // Does nothing if the turn was finished above. After a lost lease, a drain or an internal error, it may still complete elsewhere and be
    // charged once (`unavailable.unknown`).
    turn.finish({ kind: 'failed', code: 'service_unavailable', state: null })
  }

  async function generate(turn: LiveTurn): Promise<GenerationResult> {
    const { requestId, agentId, agentVersion, message, history, journal, stepsBefore, traceparent } = turn.admitted
    // Requested in another process, or before the process died that ran the turn.
    if (turn.admitted.cancelRequested) turn.stop('cancel')
    if (turn.callUnknown) return { kind: 'unusable', cause: outcomeUnknown, causeKind: 'tool_outcome_unknown' }
    try {
      return await agents.generate({
        requestId,
        agentId,
        agentVersion,
        message,
        history,
        journal,
        stepsBefore,
        traceparent,
        trace: turn.trace,
        signal: turn.signal,
        onDelta: (delta) => turn.deliver(delta),
        onReset: (text) => turn.restart(text),
        onUsage: (usage, toolCallsPrice) => turn.noteUsage(usage, toolCallsPrice),
        beforeStep: (next) => writes.beforeStep(turn, next),
        beforeCalls: (entries, spent) => writes.beforeCalls(turn, entries, spent),
        writeJournal: (entries, finishedSideEffects) => writes.journal(turn, entries, finishedSideEffects),
      })
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'unavailable', cause: error.message, causeKind: 'store_unavailable' }
      log.error({ err: error, request_id: requestId }, 'turn failed: internal error')
      return { kind: 'refused', cause: String(error), causeKind: 'internal_error', logCause: 'internal error' }
    }
  }

  /** Returns false if the turn is left to another process. */
  async function end(turn: LiveTurn, result: GenerationResult): Promise<boolean> {
    switch (result.kind) {
      case 'reply':
        return settle(turn, result, { incomplete: false, finishReason: result.finishReason })
      case 'unavailable':
        // mutant: turn.states-2
        return fail(turn, 'released', 'service_unavailable', result)
      case 'refused':
        return fail(turn, 'released', 'internal_error', result)
      case 'unusable':
        return fail(turn, 'failed', 'internal_error', result)
      case 'stopped':
        if (turn.stopReason === 'cancel') return cancel(turn, result)
        if (turn.exceeded) return fail(turn, 'released', 'spend_limit_exceeded', limitReached)
        if (turn.neededHold > 0n) return fail(turn, 'released', 'insufficient_balance', balanceRanOut)
        if (turn.stopReason === 'deadline') return fail(turn, 'released', 'service_unavailable', deadlineExceeded)
        return false
    }
  }

  async function settle(turn: LiveTurn, generated: Generated, replyEnd: ReplyEnd): Promise<boolean> {
    const settlement = settlementOf(turn, generated, { ...replyEnd, newId })
    const reply = await writes.settle(turn, settlement)
    if (!reply) return false
    metrics.turnEnded({ outcome: 'completed', ...generated.usage, charged: settlement.charged, finishReason: replyEnd.finishReason }, turn)
    await failpoints.reach('reply.before-send', turn.admitted.message)
    turn.finish({ kind: 'completed', reply, details: settlement })
    return true
  }

  /**
   * `turn.cancel`: text that was generated is the reply, and is paid, because callers may have it. Without any, the turn ends without a
   * reply, and its finished tool calls are paid (`billing.tool-price`). Either way it is one fenced write, so a settlement, a failure or a
   * cancel happens, and never two of them.
   */
  async function cancel(turn: LiveTurn, generated: Generated): Promise<boolean> {
    if (generated.text.length > 0 && !turn.callUnknown) return settle(turn, generated, { incomplete: true, finishReason: null })
    return fail(turn, 'cancelled', 'turn_cancelled', cancelRequested)
  }

  /** A turn whose tool call may have had side effects has failed, so that no retry repeats the call (`tools.journal`). */
  async function fail(turn: LiveTurn, state: TurnFailure['state'], code: TurnFailure['code'], why: EndCause): Promise<boolean> {
    if (turn.callUnknown && state !== 'failed') return fail(turn, 'failed', 'internal_error', withOutcomeUnknown(why))
    const { cause, causeKind, logCause = cause } = why
    const about = { request_id: turn.requestId, state, code, cause_kind: causeKind, cause: logCause }
    if (state !== 'cancelled') log.warn(about, 'turn ended without a reply')
    const { neededHold } = turn
    const { unpaid, charge } = costOf(turn, state)
    const ending = { state, code, cause, causeKind, unpaid, neededHold, trace: traceOf(turn) }
    if (!(await writes.fail(turn, charge ? { ...ending, charge } : ending))) return false
    if (state === 'cancelled') log.info({ request_id: turn.requestId }, 'turn cancelled')
    metrics.turnEnded({ outcome: state, code, causeKind, unpaid, charged: charge?.charged ?? 0n }, turn)
    turn.finish({ kind: 'failed', code, state, retryAfterSeconds: turn.exceeded?.retryAfterSeconds ?? undefined })
    return true
  }

  /** `billing.tool-price`: only a cancelled turn is charged without a reply. `unpaid`: what the run used besides. */
  function costOf(turn: LiveTurn, state: TurnFailure['state']): Pick<TurnFailure, 'unpaid' | 'charge'> {
    if (state !== 'cancelled') return { unpaid: turn.cost }
    const { unpaid, ...charge } = turn.cancelCost
    return charge.toolCalls > 0n ? { unpaid, charge: { ledgerEntryId: newId('led'), ...charge } } : { unpaid }
  }
}

/** Of a run without a reply. */
const traceOf = ({ trace, admitted }: LiveTurn): EncodedTrace | null => trace?.encode(admitted.hold, false) ?? null
