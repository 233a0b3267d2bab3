/**
 * A model of what the store must contain, derived only from the rules `turn.states`, `retry.continues`, `idempotency.*` and
 * `order.admission` of docs/rules.md. Each outcome of a store call is compared with it in the order of the commits, and then the rows. The
 * model never reads the store itself.
 */
import { isDeepStrictEqual } from 'node:util'
import { reservesUnpaid } from '../../src/cause-kinds.ts'
import { recordLifetimeMs } from '../../src/store/turn-records.ts'
import type {
  AdmittedTurn,
  Admission,
  AdmissionOutcome,
  Advance,
  AdvanceOutcome,
  Claims,
  HistoryMessage,
  JournalEntry,
  Lease,
  Settlement,
  SettlementOutcome,
  StoredReply,
  TurnFailure,
  TurnFailureOutcome,
} from '../../src/store/turn-records.ts'
import type { Row } from '../../src/store/sql.ts'
import type { ErasureOutcome } from '../../src/store/queries/erasure.ts'
import type { AgentChange, ChangeAgentOutcome } from '../../src/store/queries/agents.ts'
import type { AppendOutcome } from '../../src/store/queries/ledger.ts'
import { costOfSteps, mostHold, toolCallsIn } from './store-charge.ts'
import type { Claim } from '../../src/store/sqlite/claim.ts'
import { createSpendingModel } from './spending-model.ts'

export type Moment = { now: number; leaseNow: number }
/** Reports a failed check: its name and a sentence that describes the failure. */
export type Accuse = (check: string, what: string) => void

type State = 'running' | 'completed' | 'failed' | 'released' | 'cancelled'
export type Turn = {
  requestId: string
  conversationId: string
  apiKeyId: string
  externalUserId: string
  /** '' after the record has expired. */
  idempotencyKey: string
  fingerprint: string
  message: string
  state: State
  run: number
  attempt: number
  fence: number
  leaseUntil: number
  startedAt: number
  endedAt: number
  continuesFrom: number | null
  hold: bigint
  promptPerMillion: bigint
  erased: boolean
  cancelRequested: boolean
  reply: StoredReply | undefined
  journal: (JournalEntry & { run: number })[]
}
/** One committed admission or claim. It may call the model for every step that it did not get from the journal. */
export type Attempt = { message: string; history: HistoryMessage[]; stepsHanded: number }

export type StoreModel = ReturnType<typeof createStoreModel>

const figures = ['run', 'attempt', 'fence'] as const
const reported = (turn: Row | Turn): string =>
  `${'requestId' in turn ? turn.requestId : turn.request_id} ${turn.state} run ${turn.run} attempt ${turn.attempt} fence ${turn.fence}`
/** An answer without text and tool calls is not a step of the prompt. */
const isStep = ({ kind, payload }: JournalEntry): boolean => kind === 'model' && !payload.includes('"toolCalls":[]')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export function createStoreModel(accuse: Accuse) {
  const turns = new Map<string, Turn>()
  const histories = new Map<string, HistoryMessage[]>()
  const attempts: Attempt[] = []
  const entries = new Set<string>()
  /** `billing.unpaid`: what is reserved of what turns without a reply used, and what credits have cleared of it. There is one owner. */
  let unpaid = 0n
  let cleared = 0n
  let mostNeeded = 0n
  const seen = new Map<string, number>()
  const saw = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)

  const spending = createSpendingModel(accuse, saw)

  const findRecord = (item: Admission): Turn | undefined =>
    turns.values().find((turn) => turn.apiKeyId === item.apiKeyId && turn.idempotencyKey === item.idempotencyKey)

  function admit(item: Admission, outcome: AdmissionOutcome, at: Moment): void {
    let record = findRecord(item)
    saw(`admission: ${outcome.kind}`)
    if (record && record.state !== 'running' && record.endedAt + recordLifetimeMs <= at.now) {
      record.idempotencyKey = ''
      saw('an expired key is free again')
      record = undefined
    }
    const same = record !== undefined && record.fingerprint === hex(item.fingerprint)
    const reported = `${item.apiKeyId} ${item.idempotencyKey} ${record ? `${record.state} ${same ? 'same' : 'other'} body` : 'no record'}`
    const must = record && same ? answerOf(record) : undefined
    if (must !== undefined) {
      if (outcome.kind !== must) return accuse('idempotency', `${reported}: ${outcome.kind} instead of ${must}`)
      if (outcome.kind === 'replay' && !isDeepStrictEqual(outcome.reply, record!.reply)) accuse('replay', `${reported}: another reply`)
      if (outcome.kind === 'replayed_failure' && outcome.requestId !== record!.requestId)
        accuse('replay', `${reported}: another request id`)
      return
    }
    if (record && !same) {
      if (outcome.kind !== 'idempotency_conflict') accuse('idempotency', `${reported}: ${outcome.kind}`)
      return
    }
    switch (outcome.kind) {
      case 'admitted':
        return begin(item, outcome.turn, record, at)
      case 'conversation_busy':
        if (!turns.values().some((turn) => turn.state === 'running' && isOf(turn, item)))
          accuse('busy', `${reported}: busy, and no turn of its user runs`)
        break
      case 'spend_limit_exceeded':
        return spending.refused(item, at.now, mostHoldOf(item))
      case 'insufficient_balance':
      case 'agent_disabled':
      case 'agent_not_found':
        return
      case 'overloaded':
        if (item.mayRun) accuse('overloaded', `${reported}: overloaded, and there is room`)
        return
      default:
        accuse('idempotency', `${reported}: ${outcome.kind}`)
    }
  }

  /** At the highest price of an edit, and not less than what a turn needed that ran out of balance. */
  function mostHoldOf(item: Admission): bigint {
    const conversation = turns.values().find((turn) => isOf(turn, item) && !turn.erased)?.conversationId
    const history = (histories.get(conversation ?? '') ?? []).reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
    const bound = mostHold(history + item.messageTokens)
    return bound > mostNeeded ? bound : mostNeeded
  }

  const isOf = (turn: Turn, item: Admission): boolean => turn.apiKeyId === item.apiKeyId && turn.externalUserId === item.externalUserId

  function answerOf(record: Turn): AdmissionOutcome['kind'] | undefined {
    if (record.erased) return 'erased'
    const answers = {
      running: 'idempotency_in_progress',
      failed: 'replayed_failure',
      cancelled: 'replayed_failure',
      completed: 'replay',
      released: undefined,
    } as const
    return answers[record.state]
  }

  function begin(item: Admission, turn: AdmittedTurn, released: Turn | undefined, at: Moment): void {
    const { requestId, conversationId } = turn
    if (!item.mayRun) accuse('overloaded', `${requestId} was admitted where nothing may run`)
    if (turns.values().some((other) => other.state === 'running' && other.conversationId === conversationId))
      accuse('busy', `${requestId} was admitted into a conversation with a running turn`)
    if (!released && turns.has(requestId)) accuse('idempotency', `${requestId} was admitted twice`)
    if (released && (requestId !== released.requestId || turn.run !== released.run + 1 || turn.fence <= released.fence))
      accuse('runs', `${requestId} run ${turn.run} fence ${turn.fence} after run ${released.run} fence ${released.fence}`)
    if (turn.attempt !== 1) accuse('attempts', `${requestId} begins with attempt ${turn.attempt}`)
    if (released) saw(released.continuesFrom === null ? 'a released turn runs again' : 'a released turn continues')
    const known = released ?? {
      requestId,
      conversationId,
      apiKeyId: item.apiKeyId,
      externalUserId: item.externalUserId,
      idempotencyKey: item.idempotencyKey,
      fingerprint: hex(item.fingerprint),
      message: item.message,
      continuesFrom: null,
      erased: false,
      cancelRequested: false,
      reply: undefined,
      journal: [],
    }
    const leaseUntil = Math.ceil(at.leaseNow + item.leaseMs)
    const now: Turn = {
      ...known,
      state: 'running',
      run: turn.run,
      attempt: 1,
      fence: turn.fence,
      hold: turn.hold,
      promptPerMillion: turn.price.promptPerMillion,
      leaseUntil,
      startedAt: at.now,
      endedAt: 0,
      cancelRequested: false,
    }
    turns.set(requestId, now)
    spending.admitted(now, at)
    handedOver(now, turn, released?.continuesFrom ?? undefined)
  }

  /** `turn.durable-first`: a run that starts before its admission is durable may call the model, like an attempt. */
  function reportedEarly({ message, history, journal }: AdmittedTurn): Attempt {
    const attempt = { message, history, stepsHanded: journal.filter(isStep).length }
    attempts.push(attempt)
    return attempt
  }

  /** `isConfirmed`: it is the attempt of the admission that was committed, and no further one. */
  function endedEarly(attempt: Attempt, isConfirmed: boolean): void {
    saw(isConfirmed ? 'an early run is confirmed' : 'an early run is withdrawn')
    if (isConfirmed) attempts.splice(attempts.indexOf(attempt), 1)
  }

  /** Checks what an attempt receives: the stored history, and the journal from `firstRun` on. */
  function handedOver(turn: Turn, given: AdmittedTurn, firstRun: number | undefined): void {
    const { requestId } = turn
    if (!isDeepStrictEqual(given.history, histories.get(turn.conversationId) ?? []))
      accuse('history', `${requestId} was handed ${JSON.stringify(given.history)}`)
    const steps = turn.journal.filter(({ run }) => firstRun !== undefined && run >= firstRun)
    const name = ({ step, part, kind, payload }: JournalEntry): string => `${step} ${part} ${kind} ${payload}`
    if (!isDeepStrictEqual(given.journal.map(name).toSorted(), steps.map(name).toSorted()))
      accuse('journal', `${requestId} was handed ${given.journal.length} steps of ${steps.length}`)
    const before = Math.max(0, ...turn.journal.filter((step) => !steps.includes(step)).map(({ step }) => step))
    if (given.stepsBefore !== before) accuse('journal', `${requestId} counts on from step ${given.stepsBefore}, and ${before} were made`)
    const asked = steps.filter(isStep)
    if (given.cancelRequested !== turn.cancelRequested)
      accuse('cancel', `${requestId} was handed over with cancel ${given.cancelRequested}`)
    // `turn.cancel`: an attempt that starts after the request calls no model.
    if (turn.cancelRequested) return saw('a cancelled turn is claimed')
    attempts.push({ message: given.message, history: given.history, stepsHanded: asked.length })
  }

  function claim(item: Claim, { turns: claimed, exhausted }: Claims, at: Moment): void {
    for (const requestId of exhausted) {
      const turn = orphan(requestId, item, at)
      if (!turn) continue
      if (turn.attempt < 3) accuse('attempts', `${requestId} is given up after ${turn.attempt} attempts`)
      spending.ended(turn, undefined, 0n)
      end(turn, 'failed', at)
      saw('three attempts are used up')
    }
    for (const given of claimed) {
      const turn = orphan(given.requestId, item, at)
      if (!turn) continue
      if (given.attempt !== turn.attempt + 1 || given.attempt > 3)
        accuse('attempts', `${turn.requestId}: attempt ${given.attempt} after ${turn.attempt}`)
      if (given.fence <= turn.fence) accuse('fence', `${turn.requestId}: a claim left fence ${turn.fence} at ${given.fence}`)
      saw(`claim: attempt ${given.attempt}`)
      Object.assign(turn, { attempt: given.attempt, fence: given.fence, leaseUntil: Math.ceil(at.leaseNow + item.leaseMs) })
      handedOver(turn, given, turn.continuesFrom ?? turn.run)
    }
  }

  function orphan(requestId: string, item: Claim, at: Moment): Turn | undefined {
    const turn = turns.get(requestId)
    if (turn?.state !== 'running') accuse('claim', `${requestId} was claimed and is ${turn?.state ?? 'unknown'}`)
    else if (turn.leaseUntil > at.leaseNow)
      accuse('claim', `${requestId} was claimed ${turn.leaseUntil - at.leaseNow} ms before its lease ended`)
    else if (item.running.includes(requestId)) accuse('claim', `${requestId} was claimed by the process that runs it`)
    return turn
  }

  /** A write must take effect if, and only if, it comes from the process that holds the turn. */
  function held(what: string, { requestId, fence }: Lease, tookEffect: boolean): Turn | undefined {
    const turn = turns.get(requestId)
    saw(`${what} ${tookEffect ? 'takes effect' : 'is lost'}`)
    const isHeld = turn?.state === 'running' && turn.fence === fence
    if (isHeld !== tookEffect) {
      const state = turn ? `${turn.state} at fence ${turn.fence}` : 'unknown'
      accuse('fence', `${what} of ${requestId} at fence ${fence} ${tookEffect ? 'took effect' : 'is lost'}; the turn is ${state}`)
    }
    return tookEffect ? turn : undefined
  }

  function settle(item: Settlement, outcome: SettlementOutcome, at: Moment): void {
    const turn = held('a settlement', item, outcome.kind === 'settled')
    if (!turn || outcome.kind !== 'settled') return
    if (outcome.reply.content !== item.content) accuse('replay', `${turn.requestId} was settled with another text`)
    if (item.incomplete) saw('a cancelled turn has a partial reply')
    if (item.incomplete && !turn.cancelRequested) accuse('cancel', `${turn.requestId} has a partial reply and was not cancelled`)
    checkCharge(turn, item)
    turn.reply = outcome.reply
    spending.ended(turn, item.charged, 0n)
    end(turn, 'completed', at)
    const history = histories.get(turn.conversationId) ?? []
    histories.set(turn.conversationId, [...history, { role: 'user', content: turn.message }, { role: 'assistant', content: item.content }])
  }

  const journalOf = (turn: Turn): JournalEntry[] => turn.journal.filter(({ run }) => run >= (turn.continuesFrom ?? turn.run))

  /** A cancelled turn may have calls without side effects that finished and were not journaled, and a step that did not end. */
  function checkCharge(turn: Turn, item: Settlement): void {
    const journal = journalOf(turn)
    const calls = toolCallsIn(journal)
    const { toolCalls, charged, writtenOff } = item
    if (toolCalls > 0n) saw('a reply with priced tool calls')
    if (item.incomplete) {
      if (toolCalls < calls.finished || toolCalls > calls.asked)
        accuse('charge', `${turn.requestId} is charged ${toolCalls} for tool calls, of ${calls.finished} to ${calls.asked}`)
      return
    }
    // An estimate of an interrupted step may exceed its hold here, because the hold of the scripted agent is not that of its prompt.
    if (writtenOff > 0n) accuse('charge', `${turn.requestId} used no more than it held, and ${writtenOff} is written off`)
    const steps = journal.filter(({ kind }) => kind === 'model').length + 1
    const must = costOfSteps(steps, turn.promptPerMillion) + calls.finished
    if (toolCalls !== calls.finished || charged !== must)
      accuse('charge', `${turn.requestId} is charged ${charged} with ${toolCalls} for tool calls, not ${must} with ${calls.finished}`)
  }

  function checkChargeWithoutReply(turn: Turn, { state, charge }: TurnFailure): void {
    const calls = toolCallsIn(journalOf(turn))
    const toolCalls = charge?.toolCalls ?? 0n
    const must = state === 'cancelled' ? calls : { finished: 0n, asked: 0n }
    if (charge) saw('a cancelled turn pays its tool calls')
    if (toolCalls < must.finished || toolCalls > must.asked)
      accuse('charge', `${turn.requestId}, ${state}, is charged ${toolCalls} for tool calls, of ${must.finished} to ${must.asked}`)
    if (charge && charge.charged + charge.writtenOff !== toolCalls)
      accuse('charge', `${turn.requestId} is charged ${charge.charged} of ${toolCalls} for tool calls`)
  }

  function fail(item: TurnFailure, outcome: TurnFailureOutcome, at: Moment): void {
    const names = { failed: 'a failure', released: 'a release', cancelled: 'a cancel' }
    const turn = held(names[item.state], item, outcome.kind === 'ended')
    if (!turn) return
    if (item.state === 'cancelled' && !turn.cancelRequested) accuse('cancel', `${turn.requestId} was cancelled without a request`)
    if (item.unpaid > 0n) saw('a turn without a reply had used something')
    if (item.neededHold > mostNeeded) mostNeeded = item.neededHold
    let reserved = 0n
    if (reservesUnpaid(item.causeKind)) {
      if (item.unpaid > 0n) saw('what a turn without a reply used is reserved')
      const left = turn.hold - (item.charge?.charged ?? 0n)
      reserved = item.unpaid < left ? item.unpaid : left
      unpaid += reserved
    }
    checkChargeWithoutReply(turn, item)
    spending.ended(turn, item.charge?.charged, reserved)
    end(turn, item.state, at)
  }

  function requestCancel({ requestId }: { requestId: string }, requested: boolean): void {
    const turn = turns.get(requestId)
    saw(`a request to cancel ${requested ? 'is stored' : 'comes too late'}`)
    if (requested !== (turn?.state === 'running'))
      accuse('cancel', `a request to cancel ${requestId}, which is ${turn?.state}, is ${requested}`)
    if (turn && requested) turn.cancelRequested = true
  }

  /** A turn does not end before it starts, also if the clock was set back. */
  const end = (turn: Turn, state: State, { now }: Moment): void =>
    void Object.assign(turn, { state, endedAt: Math.max(now, turn.startedAt) })

  function advance(item: Advance, outcome: AdvanceOutcome): void {
    const turn = held('a step', item, outcome.kind !== 'lost')
    if (outcome.kind === 'insufficient_balance') saw('a hold could not be extended')
    if (outcome.kind === 'spend_limit_exceeded') saw('a hold exceeds a limit')
    if (!turn || outcome.kind !== 'advanced') return
    const firstRun = turn.continuesFrom ?? turn.run
    for (const entry of item.entries) {
      const { step, part, kind } = entry
      if (!turn.journal.some((old) => old.run >= firstRun && old.step === step && old.part === part && old.kind === kind))
        turn.journal.push({ ...entry, run: turn.run })
    }
    if (item.finishedSideEffects) turn.continuesFrom ??= turn.run
    if (item.hold > turn.hold) {
      spending.extended(turn, item.hold - turn.hold)
      turn.hold = item.hold
    }
  }

  function renew(item: Lease & { leaseMs: number }, kept: boolean, at: Moment): void {
    const turn = held('a renewal', item, kept)
    if (turn) turn.leaseUntil = Math.ceil(at.leaseNow + item.leaseMs)
  }

  function release({ requestId, fence }: Lease): void {
    saw('a lease is given up')
    const turn = turns.get(requestId)
    if (turn?.state === 'running' && turn.fence === fence) turn.leaseUntil = 0
  }

  function erase(outcome: ErasureOutcome): void {
    saw(`erasure: ${outcome.kind}`)
    if (outcome.kind !== 'erased') return
    for (const turn of turns.values()) {
      if (!outcome.conversationIds.includes(turn.conversationId)) continue
      if (turn.state === 'running') accuse('erase', `${turn.requestId} was erased while it ran`)
      Object.assign(turn, { erased: true, journal: [], continuesFrom: null })
    }
    for (const id of outcome.conversationIds) histories.delete(id)
    spending.erased(outcome.conversationIds)
  }

  function append(outcome: AppendOutcome): void {
    if (outcome.kind !== 'appended' || entries.has(outcome.entry.id)) return
    entries.add(outcome.entry.id)
    const { amount } = outcome.entry
    if (amount > 0n && unpaid > 0n) saw('a credit clears what was used')
    if (amount < 0n && cleared > 0n) saw('an adjustment reserves again what was cleared')
    const after = unpaid - amount
    const both = unpaid + cleared
    unpaid = after < 0n ? 0n : after > both ? both : after
    cleared = both - unpaid
  }

  function changeAgent({ spendLimits }: AgentChange, outcome: ChangeAgentOutcome, at: Moment): void {
    if (spendLimits && outcome.kind === 'changed') spending.setLimits(spendLimits, at.now)
  }

  /** Applies one committed call of the store. */
  function committed(operation: string, item: unknown, value: unknown, at: Moment): void {
    switch (operation) {
      case 'admit':
        return admit(item as Admission, value as AdmissionOutcome, at)
      case 'claim':
        return claim(item as Claim, value as Claims, at)
      case 'settle':
        return settle(item as Settlement, value as SettlementOutcome, at)
      case 'fail':
        return fail(item as TurnFailure, value as TurnFailureOutcome, at)
      case 'advance':
        return advance(item as Advance, value as AdvanceOutcome)
      case 'renew':
        return renew(item as Lease & { leaseMs: number }, value === true, at)
      case 'release':
        return release(item as Lease)
      case 'write':
        if ((item as { name: string }).name === 'eraseConversations') erase(value as ErasureOutcome)
        if ((item as { name: string }).name === 'requestCancel')
          requestCancel((item as { args: [{ requestId: string }] }).args[0], value !== undefined)
        if ((item as { name: string }).name === 'appendLedgerEntry') append(value as AppendOutcome)
        if ((item as { name: string }).name === 'changeAgent')
          changeAgent((item as { args: [AgentChange] }).args[0], value as ChangeAgentOutcome, at)
    }
  }

  /** Checks that every row matches the outcomes and that none is missing. */
  function compare(rows: Row[]): void {
    for (const row of rows) {
      const turn = turns.get(String(row.request_id))
      const fits =
        turn &&
        row.state === turn.state &&
        [turn.run, turn.attempt, turn.fence].every((reported, at) => reported === Number(row[figures[at]!]))
      if (!fits) accuse('rows', `stored: ${reported(row)}; returned: ${turn ? reported(turn) : 'nothing'}`)
    }
    if (rows.length < turns.size) accuse('rows', `only ${rows.length} of ${turns.size} turns are stored`)
  }

  return {
    turns,
    attempts,
    reportedEarly,
    endedEarly,
    seen,
    get unpaid() {
      return unpaid
    },
    committed,
    compare,
    compareSpending: spending.compare,
    /** Called when a process starts as the only one on its store. */
    endAllLeases: () => turns.values().forEach((turn) => (turn.leaseUntil = 0)),
  }
}
