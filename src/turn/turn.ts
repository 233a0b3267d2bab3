/**
 * One turn, whole: admit → run → settle. Between the two transactions the turn belongs to the server and not to the connection: callers only
 * listen, leave and come back. Knows no HTTP and no SQL. Specification sections 4.1, 4.2, 4.4; rulings `turn.states`.
 */
import type { Logger } from 'pino'
import type { Agents, GenerationResult } from '../agent/agent.ts'
import { tokenBound } from '../agent/tokens.ts'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics } from '../observability/metrics.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { AdmittedTurn, Admission, AdmissionOutcome, Lease, TurnFailure } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import { fingerprint } from './fingerprint.ts'
import { Batcher } from './batcher.ts'
import { LiveTurn } from './live-turn.ts'
import type { BeginResult, TurnRequest } from './outcome.ts'
import { keepLeases } from './leases.ts'
import { createStoreWarnings } from './store-warnings.ts'
import type { Ids } from '../ids.ts'
import { finishRunning } from './drain.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { Release } from './concurrency-limiter.ts'
import { maxLookUps, turnDefaults } from './turn-settings.ts'
import type { TurnSettings } from './turn-settings.ts'
import { settlementOf } from './settlement.ts'
import { createTurnWrites } from './turn-writes.ts'
export type { TurnSettings }

export type TurnsOptions = {
  store: Store
  agents: Agents
  failpoints: Failpoints
  log: Logger
  metrics: Metrics
  newRequestId(): string
  newId: Ids['newId']
  settings?: Partial<TurnSettings>
}

export interface Turns {
  /** Runs a message, or answers what became of it before. Never throws. */
  begin(request: TurnRequest): Promise<BeginResult>
  /** Recovers what a dead process left, and keeps leases from now on. Call once. */
  start(): void
  /** Admits nothing more, waits for running turns up to `limitMs`, then gives the rest up for others to claim. */
  drain(limitMs: number): Promise<void>
  readonly running: number
  /** Messages that were refused for want of a place, since the start. */
  readonly rejected: number
  /** Items that wait for the next batch, by lane. */
  waiting(): { admission: number; advance: number; settlement: number; failure: number }
}

/** For the operator: the cause of a turn that has failed. */
const callUnknown = 'a tool with side effects was called and its outcome is unknown'

/** `text.well-formed`: every high surrogate begins a pair, which is one. */
const codePoints = (text: string): number => text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0)

export function createTurns({ store, agents, failpoints, log, metrics, newRequestId, newId, settings: given }: TurnsOptions): Turns {
  const settings = { ...turnDefaults, ...given }
  const live = new Map<string, LiveTurn>()
  const warnings = createStoreWarnings(log)
  const slots = new ConcurrencyLimiter(settings.maxTurns)
  const lookUps = new ConcurrencyLimiter(maxLookUps)
  /** Admissions and claims under way, which become turns in a moment. */
  let admitting = 0
  let claiming = 0
  let rejected = 0
  let draining = false
  let abandoned = false

  const admissions = new Batcher<Admission, AdmissionOutcome>(
    (items) => store.admitMany(items),
    (item) => [`${item.apiKeyId} user ${item.externalUserId}`, `${item.apiKeyId} key ${item.idempotencyKey}`],
  )
  const writes = createTurnWrites({ store, warnings })
  const claims = {
    capacity: () => (draining ? 0 : slots.free),
    begin: beginClaim,
    mayClaim: () => !draining,
    launch: (turn: AdmittedTurn) => launch(turn, slots.takeAnyway()),
  }
  const leases = keepLeases({ store, live, failpoints, log, warnings, metrics, settings, ...claims })

  function beginClaim(): () => void {
    claiming++
    return () => void claiming--
  }

  /** `overload.queue`: who gets no place may still be answered from what is stored; more of them than a store answers soon are refused here. */
  async function begin(request: TurnRequest): Promise<BeginResult> {
    const place = draining ? undefined : slots.take(request.shareOf)
    const room = place ?? lookUps.take(request.shareOf)
    if (!room) return refuseOverload()
    let isRunning = false
    if (place) admitting++
    try {
      const begun = answer(await admissions.push(admissionOf(request, place !== undefined), request.shareOf), room)
      isRunning = begun.kind === 'running'
      if (begun.kind === 'replay' || begun.kind === 'replayed_failure') metrics.replayed()
      return begun
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        warnings.warn('could not admit turn: store unavailable', error.message)
        return { kind: 'refused', code: 'service_unavailable' }
      }
      log.error({ err: error }, 'could not admit turn: internal error')
      return { kind: 'refused', code: 'internal_error' }
    } finally {
      if (place) admitting--
      if (!isRunning) room()
    }
  }

  function refuseOverload(): BeginResult {
    if (!draining) rejected++
    return { kind: 'refused', code: 'service_unavailable' }
  }

  function admissionOf({ apiKeyId, agentId, idempotencyKey, externalUserId, message }: TurnRequest, mayRun: boolean): Admission {
    return {
      apiKeyId,
      agentId,
      idempotencyKey,
      fingerprint: fingerprint(externalUserId, message),
      externalUserId,
      message,
      messageLength: codePoints(message),
      messageTokens: tokenBound(message),
      requestId: newRequestId(),
      conversationId: newId('conv'),
      leaseMs: settings.leaseMs,
      mayRun,
    }
  }

  function answer(outcome: AdmissionOutcome, room: Release): BeginResult {
    switch (outcome.kind) {
      case 'admitted':
        // Its commit came back after the drain's limit: it is for whoever comes next.
        if (abandoned) return releaseLeases([outcome.turn])
        return { kind: 'running', turn: launch(outcome.turn, room) }
      case 'replay':
      case 'message_too_long':
        return outcome
      case 'replayed_failure':
        return { kind: 'replayed_failure', requestId: outcome.requestId, code: 'internal_error' }
      case 'erased':
        return { kind: 'refused', code: 'not_found' }
      case 'overloaded':
        return refuseOverload()
      default:
        return { kind: 'refused', code: outcome.kind }
    }
  }

  /** The turn runs from here on whether or not anybody listens, and has its place to the end. */
  function launch(admitted: AdmittedTurn, place: Release): LiveTurn {
    const turn = new LiveTurn(admitted, settings)
    live.set(turn.requestId, turn)
    void run(turn).finally(() => {
      if (live.get(turn.requestId) === turn) live.delete(turn.requestId)
      place()
    })
    return turn
  }

  async function run(turn: LiveTurn): Promise<void> {
    let stored = false
    try {
      const result = await generate(turn)
      await failpoints.reach('model.done', turn.admitted.message)
      stored = await keep(turn, result)
    } catch (error) {
      // The turn stays running in the store; its lease runs out and recovery ends it.
      log.error({ err: error, request_id: turn.requestId }, 'turn interrupted: internal error; recovery will finish it')
    }
    if (!stored) metrics.turnEnded({ outcome: 'lost' }, turn)
    // Where nothing was told above: a lost lease, a drain, or a fault. It may yet complete and be charged once (`unavailable.unknown`).
    turn.finish({ kind: 'failed', code: 'service_unavailable' })
  }

  async function generate(turn: LiveTurn): Promise<GenerationResult> {
    const { requestId, agentId, agentVersion, message, history, journal, stepsBefore } = turn.admitted
    if (turn.callUnknown) return { kind: 'unusable', cause: callUnknown }
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
        beforeStep: (next) => writes.beforeStep(turn, next),
        writeJournal: (entries, finishedSideEffects) => writes.journal(turn, entries, finishedSideEffects),
      })
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'unavailable', cause: error.message }
      log.error({ err: error, request_id: requestId }, 'turn failed: internal error')
      return { kind: 'refused', cause: String(error), logCause: 'internal error' }
    }
  }

  async function keep(turn: LiveTurn, result: GenerationResult): Promise<boolean> {
    switch (result.kind) {
      case 'reply':
        return settle(turn, result)
      case 'unavailable':
        return release(turn, 'service_unavailable', result.cause, result.logCause)
      case 'refused':
        return release(turn, 'internal_error', result.cause, result.logCause)
      case 'unusable':
        return fail(turn, 'failed', 'internal_error', result.cause)
      case 'stopped':
        if (turn.balanceRanOut) return release(turn, 'insufficient_balance', 'the balance does not cover the next step')
        if (turn.stopReason === 'deadline') return release(turn, 'service_unavailable', 'the turn exceeded its deadline')
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

  /** `tools.journal`: a turn whose call may or may not have done something is never left to be run again. */
  function release(turn: LiveTurn, code: TurnFailure['code'], cause: string, logCause = cause): Promise<boolean> {
    if (turn.callUnknown) return fail(turn, 'failed', 'internal_error', `${cause}; ${callUnknown}`, `${logCause}; ${callUnknown}`)
    return fail(turn, 'released', code, cause, logCause)
  }

  /** `logCause`: the cause as the log may contain it, without text from a provider. */
  async function fail(
    turn: LiveTurn,
    state: TurnFailure['state'],
    code: TurnFailure['code'],
    cause: string,
    logCause = cause,
  ): Promise<boolean> {
    log.warn({ request_id: turn.requestId, state, code, cause: logCause }, 'turn ended without a reply')
    if (!(await writes.fail(turn, { state, code, cause }))) return false
    metrics.turnEnded({ outcome: state, code }, turn)
    turn.finish({ kind: 'failed', code })
    return true
  }

  async function drain(limitMs: number): Promise<void> {
    draining = true
    await failpoints.reach('drain.begin')
    await finishRunning(live, () => admitting + claiming, limitMs)
    await leases.stop()
    abandoned = true
    const rest = [...live.values()]
    if (rest.length > 0) {
      await failpoints.reach('drain.give-up')
      for (const turn of rest) turn.stop('drain')
      releaseLeases(rest.map((turn) => turn.lease))
      for (const turn of rest) turn.finish({ kind: 'failed', code: 'service_unavailable' })
    }
    await failpoints.reach('drain.end')
  }

  /** The store answers in order, so this is done before it closes. Where it cannot, the leases run out by themselves. */
  function releaseLeases(turns: Lease[]): BeginResult {
    store.releaseLeases(turns).catch((error: unknown) => log.error({ err: error }, 'could not release leases'))
    return { kind: 'refused', code: 'service_unavailable' }
  }

  return {
    begin,
    start: () => leases.start(),
    drain,
    get running() {
      return live.size
    },
    get rejected() {
      return rejected
    },
    waiting: () => ({ admission: admissions.waiting, ...writes.waiting() }),
  }
}
