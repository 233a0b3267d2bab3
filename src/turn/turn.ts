/**
 * The turns of this process: admits a message, runs the turn (run-turn.ts), and hands over what is left when the process drains. Between
 * admission and settlement, two transactions, the turn belongs to the server and not to the connection: callers listen, leave and come back
 * (`turn.states`). docs/one-turn.md follows one turn through the code.
 */
import type { Logger } from 'pino'
import type { Agents } from '../agent/agent.ts'
import { tokenBound } from '../agent/tokens.ts'
import type { Trace } from '../agent/trace.ts'
import { codePoints } from '../code-points.ts'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics } from '../observability/metrics.ts'
import { bytesOf } from '../store/budget.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Admitted, AdmittedTurn, Admission, AdmissionOutcome, Lease } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import { fingerprint } from './fingerprint.ts'
import { Batcher } from './batcher.ts'
import { EarlyRuns } from './early-run.ts'
import type { EarlyRun, Run } from './early-run.ts'
import { LiveTurn } from './live-turn.ts'
import { operatorShare } from './outcome.ts'
import type { BeginResult, TurnRequest } from './outcome.ts'
import { createLargeReplies } from './large-replies.ts'
import { keepLeases } from './leases.ts'
import { followTurns } from './followed-turns.ts'
import { createTurnResource } from './turn-resource.ts'
import type { TurnResource } from './turn-resource.ts'
import { createStoreWarnings } from './store-warnings.ts'
import type { Ids } from '../ids.ts'
import { finishRunning } from './drain.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { Release } from './concurrency-limiter.ts'
import { maxLookUps, turnDefaults } from './turn-settings.ts'
import type { TurnSettings } from './turn-settings.ts'
import { createTurnRunner } from './run-turn.ts'
import { createTurnWrites } from './turn-writes.ts'
export { turnDefaults }
export type { TurnSettings }

export type TurnsOptions = {
  store: Store
  agents: Agents
  failpoints: Failpoints
  log: Logger
  metrics: Metrics
  newRequestId(): string
  newId: Ids['newId']
  /** Called after each run that ended here. */
  onEnd?(): void
  settings?: Partial<TurnSettings>
}

export interface Turns {
  /** Starts a turn for a message, or returns the stored result of an earlier request with the same Idempotency-Key. Never throws. */
  begin(request: TurnRequest): Promise<BeginResult>
  /** Turns that were started before, by their request ID. */
  readonly resource: TurnResource
  /** `trace.stored`: the trace so far of a turn that runs in this process. Undefined for any other turn, and if traces are off. */
  traceOf(requestId: string): Trace | undefined
  /** Starts the timer that renews leases and recovers the turns of processes that have died. Call once. */
  start(): void
  /** Stops admitting, waits up to `limitMs` for running turns, then ends the leases of the others, so that another process can claim them. */
  drain(limitMs: number): Promise<void>
  readonly running: number
  /** How many messages were refused since the start because no slot was free. */
  readonly rejected: number
  /** How many items wait for the next batch, by kind of write. */
  waiting(): { admission: number; advance: number; settlement: number; failure: number }
}

export function createTurns({ store, agents, failpoints, log, metrics, newRequestId, newId, onEnd, settings: given }: TurnsOptions): Turns {
  const settings = { ...turnDefaults, ...given }
  const live = new Map<string, LiveTurn>()
  const warnings = createStoreWarnings(log)
  const slots = new ConcurrencyLimiter(settings.maxTurns)
  const lookUps = new ConcurrencyLimiter(maxLookUps)
  const earlyRuns = new EarlyRuns()
  /** Admissions and claims in progress. Each may become a running turn, so a drain waits for them. */
  let admitting = 0
  let claiming = 0
  let rejected = 0
  let draining = false
  let abandoned = false

  const admissions = new Batcher<Admission, AdmissionOutcome>(
    (items, onEarly) => store.admitMany(items, onEarly),
    (item) => [`${item.apiKeyId} user ${item.externalUserId}`, `${item.apiKeyId} key ${item.idempotencyKey}`],
    bytesOf.admit,
  )
  const replies = createLargeReplies(store)
  const writes = createTurnWrites({ store, warnings })
  const run = createTurnRunner({ agents, writes, failpoints, log, metrics, newId, traces: settings.traces })
  const claims = {
    capacity: () => (draining ? 0 : slots.free),
    begin: beginClaim,
    mayClaim: () => !draining,
    launch: (turn: AdmittedTurn) => launch(startRun(turn, 0), slots.takeAnyway()),
  }
  const leases = keepLeases({ store, live, failpoints, log, warnings, metrics, settings, ...claims })

  const followed = followTurns({ store, live, log, warnings })
  const resource = createTurnResource({ store, live, followed })

  function beginClaim(): () => void {
    claiming++
    return () => void claiming--
  }

  async function begin(request: TurnRequest): Promise<BeginResult> {
    const result = await admitMessage(request)
    if (result.kind !== 'refused') return result
    // After the slot of the message is free again, and outside its transaction.
    const blockedBy = await resource.findBlocking(result.code, request)
    return blockedBy === undefined ? result : { ...result, blockedBy }
  }

  /**
   * Without a free slot, a message may still be answered from what is stored, so it is looked up. The number of look-ups is limited, too
   * (`overload.queue`).
   */
  async function admitMessage(request: TurnRequest): Promise<BeginResult> {
    const slot = draining ? undefined : slots.take(request.shareOf)
    const release = slot ?? lookUps.take(request.shareOf)
    if (!release) return refuseOverload()
    let isRunning = false
    const askedAt = performance.now()
    let early: EarlyRun | undefined
    // `turn.durable-first`: the model may be called now, and nothing else.
    const onEarly = (outcome: AdmissionOutcome): void => {
      if (outcome.kind === 'admitted') early = earlyRuns.start(outcome, () => startRun(outcome.turn, performance.now() - askedAt, true))
    }
    if (slot) admitting++
    try {
      const outcome = await admissions.push(admissionOf(request, slot !== undefined), request.shareOf, onEarly)
      const runOf = (admitted: Admitted): Run => early?.confirm(admitted) ?? startRun(admitted.turn, performance.now() - askedAt)
      const result = outcome.kind === 'large_replay' ? await replies.read(outcome, request.shareOf) : answer(outcome, release, runOf)
      isRunning = result.kind === 'running'
      if (result.kind === 'replay' || result.kind === 'replayed_failure') metrics.replayed()
      return result
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        warnings.warn('could not admit turn: store unavailable', error.message)
        return { kind: 'refused', code: 'service_unavailable' }
      }
      log.error({ err: error }, 'could not admit turn: internal error')
      return { kind: 'refused', code: 'internal_error' }
    } finally {
      early?.withdraw()
      if (slot) admitting--
      if (!isRunning) release()
    }
  }

  function refuseOverload(): BeginResult {
    if (!draining) rejected++
    return { kind: 'refused', code: 'service_unavailable' }
  }

  function admissionOf(
    { apiKeyId, agentId, idempotencyKey, externalUserId, message, traceparent, shareOf }: TurnRequest,
    mayRun: boolean,
  ): Admission {
    return {
      apiKeyId,
      agentId,
      ownerId: shareOf === operatorShare ? undefined : shareOf,
      // mutant: expiry-by-the-clock-of-the-process
      idempotencyKey,
      fingerprint: fingerprint(externalUserId, message),
      externalUserId,
      message,
      messageLength: codePoints(message),
      messageTokens: tokenBound(message),
      requestId: newRequestId(),
      conversationId: newId('conv'),
      traceparent,
      leaseMs: settings.leaseMs,
      mayRun,
    }
  }

  function answer(
    outcome: Exclude<AdmissionOutcome, { kind: 'large_replay' }>,
    release: Release,
    runOf: (admitted: Admitted) => Run,
  ): BeginResult {
    switch (outcome.kind) {
      case 'admitted':
        // The commit returned after the drain's limit. Another process will claim the turn.
        if (abandoned) return releaseLeases([outcome.turn])
        return { kind: 'running', turn: launch(runOf(outcome), release) }
      case 'replay':
      case 'replayed_failure':
      case 'message_too_long':
        return outcome
      case 'erased':
        return { kind: 'refused', code: 'not_found' }
      case 'overloaded':
        return refuseOverload()
      case 'spend_limit_exceeded':
        return { kind: 'refused', code: outcome.kind, retryAfterSeconds: outcome.retryAfterSeconds ?? undefined }
      default:
        return { kind: 'refused', code: outcome.kind }
    }
  }

  function startRun(admitted: AdmittedTurn, waitMs: number, isEarly = false): Run {
    const turn = new LiveTurn(admitted, settings, isEarly)
    return { turn, ended: run(turn, waitMs) }
  }

  /** The turn runs to its end even without a listener, and holds its slot until then. */
  function launch({ turn, ended }: Run, release: Release): LiveTurn {
    live.set(turn.requestId, turn)
    void ended.finally(() => {
      if (live.get(turn.requestId) === turn) live.delete(turn.requestId)
      followed.ended(turn)
      // mutant: overload.places
      release()
      onEnd?.()
    })
    return turn
  }

  async function drain(limitMs: number): Promise<void> {
    draining = true
    await failpoints.reach('drain.begin')
    await finishRunning(live, () => admitting + claiming, limitMs)
    await leases.stop()
    abandoned = true
    // mutant: turn.durable-first
    earlyRuns.stop()
    const rest = [...live.values()]
    if (rest.length > 0) {
      await failpoints.reach('drain.give-up')
      for (const turn of rest) turn.stop('drain')
      releaseLeases(rest.map((turn) => turn.lease))
      for (const turn of rest) turn.finish({ kind: 'failed', code: 'service_unavailable', state: null })
    }
    followed.stop()
    await failpoints.reach('drain.end')
  }

  /** The store answers in order, so the leases are released before it closes. If it cannot release them, they expire. */
  function releaseLeases(turns: Lease[]): BeginResult {
    store.releaseLeases(turns).catch((error: unknown) => log.error({ err: error }, 'could not release leases'))
    return { kind: 'refused', code: 'service_unavailable' }
  }

  return {
    begin,
    resource,
    traceOf(requestId) {
      const turn = live.get(requestId)
      return turn && !turn.ended ? turn.trace?.trace(turn.admitted.hold, false) : undefined
    },
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
