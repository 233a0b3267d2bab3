/**
 * Runs an admitted turn to its end: the agent generates, then the store settles the reply or ends the turn without one. The turn belongs to the
 * server and not to a connection, so it runs on when its caller has left.
 */
import type { Logger } from 'pino'
import type { Agents, Cause, GenerationResult } from '../agent/agent.ts'
import type { Failpoints } from '../failpoints.ts'
import type { Ids } from '../ids.ts'
import type { Metrics } from '../observability/metrics.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { TurnFailure } from '../store/turn-records.ts'
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
}

/** The stored cause of a turn whose process ended during a tool call with side effects. Shown to the operator. */
const callUnknown = 'a tool with side effects was called and its outcome is unknown'

const balanceRanOut: Cause = { cause: 'the balance does not cover the next step', causeKind: 'insufficient_balance' }
const deadlineExceeded: Cause = { cause: 'the turn exceeded its deadline', causeKind: 'turn_timeout' }

const withCallUnknown = ({ cause, logCause = cause }: Cause): Cause => ({
  cause: `${cause}; ${callUnknown}`,
  causeKind: 'tool_outcome_unknown',
  logCause: `${logCause}; ${callUnknown}`,
})

/** Returns a function that runs a turn. It resolves when the turn has ended here, and never rejects. */
export function createTurnRunner({
  agents,
  writes,
  failpoints,
  log,
  metrics,
  newId,
}: TurnRunnerOptions): (turn: LiveTurn) => Promise<void> {
  return run

  async function run(turn: LiveTurn): Promise<void> {
    let stored = false
    try {
      const result = await generate(turn)
      await failpoints.reach('model.done', turn.admitted.message)
      stored = await keep(turn, result)
    } catch (error) {
      // The turn stays `running` in the store. Its lease expires, and recovery ends it.
      log.error({ err: error, request_id: turn.requestId }, 'turn interrupted: internal error; recovery will finish it')
    }
    if (!stored) metrics.turnEnded({ outcome: 'lost' }, turn)
    // Has an effect only if nothing above has finished the turn: after a lost lease, a drain or an internal error. The turn may still complete
    // elsewhere and be charged once (`unavailable.unknown`).
    turn.finish({ kind: 'failed', code: 'service_unavailable' })
  }

  async function generate(turn: LiveTurn): Promise<GenerationResult> {
    const { requestId, agentId, agentVersion, message, history, journal, stepsBefore } = turn.admitted
    if (turn.callUnknown) return { kind: 'unusable', cause: callUnknown, causeKind: 'tool_outcome_unknown' }
    try {
      return await agents.generate({
        requestId,
        agentId,
        agentVersion,
        message,
        history,
        journal,
        stepsBefore,
        signal: turn.signal,
        onDelta: (delta) => turn.deliver(delta),
        onUsage: (usage) => turn.noteUsage(usage),
        beforeStep: (next) => writes.beforeStep(turn, next),
        writeJournal: (entries, finishedSideEffects) => writes.journal(turn, entries, finishedSideEffects),
      })
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'unavailable', cause: error.message, causeKind: 'store_unavailable' }
      log.error({ err: error, request_id: requestId }, 'turn failed: internal error')
      return { kind: 'refused', cause: String(error), causeKind: 'internal_error', logCause: 'internal error' }
    }
  }

  async function keep(turn: LiveTurn, result: GenerationResult): Promise<boolean> {
    switch (result.kind) {
      case 'reply':
        return settle(turn, result)
      case 'unavailable':
        return release(turn, 'service_unavailable', result)
      case 'refused':
        return release(turn, 'internal_error', result)
      case 'unusable':
        return fail(turn, 'failed', 'internal_error', result)
      case 'stopped':
        if (turn.neededHold > 0n) return release(turn, 'insufficient_balance', balanceRanOut)
        if (turn.stopReason === 'deadline') return release(turn, 'service_unavailable', deadlineExceeded)
        return false
    }
  }

  async function settle(turn: LiveTurn, result: Extract<GenerationResult, { kind: 'reply' }>): Promise<boolean> {
    const settlement = settlementOf(turn, result, newId)
    const reply = await writes.settle(turn, settlement)
    if (!reply) return false
    metrics.turnEnded({ outcome: 'completed', ...result.usage, charged: settlement.charged }, turn)
    await failpoints.reach('reply.before-send', turn.admitted.message)
    turn.finish({ kind: 'completed', reply })
    return true
  }

  /** A turn whose tool call may have had side effects fails instead, so that no retry repeats the call (`tools.journal`). */
  function release(turn: LiveTurn, code: TurnFailure['code'], why: Cause): Promise<boolean> {
    if (turn.callUnknown) return fail(turn, 'failed', 'internal_error', withCallUnknown(why))
    return fail(turn, 'released', code, why)
  }

  async function fail(turn: LiveTurn, state: TurnFailure['state'], code: TurnFailure['code'], why: Cause): Promise<boolean> {
    const { cause, causeKind, logCause = cause } = why
    log.warn({ request_id: turn.requestId, state, code, cause_kind: causeKind, cause: logCause }, 'turn ended without a reply')
    const { cost: unpaid, neededHold } = turn
    if (!(await writes.fail(turn, { state, code, cause, causeKind, unpaid, neededHold }))) return false
    metrics.turnEnded({ outcome: state, code, causeKind, unpaid }, turn)
    turn.finish({ kind: 'failed', code })
    return true
  }
}
