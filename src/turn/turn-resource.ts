/**
 * A turn after its message was sent, by its request ID: reads its status, follows its text, requests a cancel, and stores feedback
 * (`turn.resource`). A caller sees the turns of its own API key, the operator sees all. Starts no turn and ends none: a cancel is a request,
 * and the process that runs the turn ends it (`turn.cancel`).
 */
import { ApiError, invalid } from '../errors.ts'
import type { FailureCode } from '../errors.ts'
import type { Author } from '../store/queries/audit.ts'
import type { Feedback, GivenFeedback } from '../store/queries/feedback.ts'
import type { KeyedTurn } from '../store/queries/openai-look-ups.ts'
import type { TurnStatus } from '../store/queries/turn-status.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { within } from '../deadline.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { FollowedTurns } from './followed-turns.ts'
import { endOf } from './followed-turns.ts'
import type { LiveTurn } from './live-turn.ts'
import type { RunningTurn } from './outcome.ts'
import { ReadQueue } from './read-queue.ts'
import { TurnText } from './turn-text.ts'

export type { TurnStatus }

/** A caller by its API key. `shareOf` is the owner whose turn it is when many reads wait (`overload.reads`). */
export type Reader = { apiKeyId: string; shareOf: string }

/** `apiKeyId` undefined: the operator, who may see every turn. */
export type TurnWanted = { requestId: string; apiKeyId: string | undefined; shareOf: string }

/** All throw ApiError: `not_found` for a turn that the caller may not see, does not exist or was erased; `service_unavailable`. */
export interface TurnResource {
  find(wanted: TurnWanted): Promise<TurnStatus>
  /** The user's message of a turn. */
  readMessage(wanted: Reader & { requestId: string }): Promise<string>
  /** The newest turn of the key whose Idempotency-Key starts with `keyPrefix`, if it was started at most `withinMs` ago. */
  findNewest(wanted: Reader & { keyPrefix: string; withinMs: number }): Promise<KeyedTurn | undefined>
  /** The turn that the Idempotency-Key has. */
  findOfKey(wanted: Reader & { idempotencyKey: string }): Promise<TurnStatus>
  /**
   * The request ID of the running turn because of which a message was refused (`idempotency.in-progress`, `conversation.busy`). Undefined if it
   * is not found, or not now. Never throws.
   */
  findBlocking(code: FailureCode, refused: Reader & { idempotencyKey: string; externalUserId: string }): Promise<string | undefined>
  /** The turn, to follow it from any position, whether or not it has ended. */
  open(wanted: TurnWanted): Promise<{ turn: RunningTurn; status: TurnStatus }>
  /**
   * Requests a cancel, and waits a short time for the end of the turn. Returns its status then. Has no effect on a turn that has ended, and
   * can be repeated. `author`: of the operator's request, for the audit log.
   */
  cancel(wanted: TurnWanted, author?: Author): Promise<TurnStatus>
  /** Replaces earlier feedback. A turn that still runs has none. */
  giveFeedback(wanted: Reader & { requestId: string }, feedback: GivenFeedback): Promise<Feedback>
}

// A model call ends at once. A tool call with side effects may take longer, and the caller can read the status again.
const cancelWaitMs = 2_000

// `overload.queue`: look-ups for retries and refused messages must not delay what else is read.
const maxKeyLookUps = 16

/** What a path contains may be any text, which not every store accepts. */
const isRequestId = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text)

export type TurnResourceOptions = {
  store: Pick<Store, 'read' | 'write' | 'writeAs' | 'messages'>
  live: ReadonlyMap<string, LiveTurn>
  followed: FollowedTurns
}

export function createTurnResource({ store, live, followed }: TurnResourceOptions): TurnResource {
  const queue = new ReadQueue()
  const read = <Value>(shareOf: string, ask: () => Promise<Value>): Promise<Value> => queue.run(shareOf, ask).catch(refuseUnavailable)

  async function find({ requestId, apiKeyId, shareOf }: TurnWanted): Promise<TurnStatus> {
    const status = isRequestId(requestId) && (await read(shareOf, () => store.read.findTurnStatus(requestId, apiKeyId)))
    if (!status) throw new ApiError('not_found', 'This turn does not exist.')
    return status
  }

  const lookUps = new ConcurrencyLimiter(maxKeyLookUps)

  const openRunning = (status: TurnStatus): RunningTurn => {
    const running = live.get(status.requestId)
    // A process that was paused may still run an attempt that another one has taken over.
    return running && !running.ended && running.fence >= status.fence ? running : followed.follow(status)
  }

  return {
    find,

    async readMessage({ requestId, apiKeyId, shareOf }) {
      const message = isRequestId(requestId) && (await read(shareOf, () => store.read.findTurnMessage(requestId, apiKeyId)))
      if (typeof message !== 'string') throw new ApiError('not_found', 'This turn does not exist.')
      return message
    },

    async findNewest({ shareOf, ...wanted }) {
      const release = lookUps.take(wanted.apiKeyId)
      if (!release) throw new ApiError('service_unavailable')
      return read(shareOf, () => store.read.findNewestTurn(wanted)).finally(release)
    },

    async findOfKey({ shareOf, ...wanted }) {
      const status = await read(shareOf, () => store.read.findTurnStatusOfKey(wanted))
      if (!status) throw new ApiError('not_found', 'This API key has no turn with this Idempotency-Key.')
      return status
    },

    async findBlocking(code, { apiKeyId, shareOf, idempotencyKey, externalUserId }) {
      if (code !== 'idempotency_in_progress' && code !== 'conversation_busy') return undefined
      const release = lookUps.take(apiKeyId)
      if (!release) return undefined
      const look = (): Promise<string | undefined> =>
        code === 'idempotency_in_progress'
          ? store.read.findTurnOfKey({ apiKeyId, idempotencyKey })
          : store.read.findRunningTurn(apiKeyId, externalUserId)
      return read(shareOf, look)
        .catch(() => undefined)
        .finally(release)
    },

    async open(wanted) {
      const status = await find(wanted)
      return { turn: status.state === 'running' ? openRunning(status) : endedTurn(status), status }
    },

    async cancel(wanted, author) {
      const status = await find(wanted)
      if (status.state !== 'running') return status
      const write = author ? store.writeAs(author) : store.write
      const run = await write.requestCancel({ requestId: status.requestId }).catch(refuseUnavailable)
      if (run !== undefined) {
        followed.cancel(status.requestId, run)
        await within(cancelWaitMs, openRunning(status).end, () => undefined)
      }
      return find(wanted)
    },

    async giveFeedback(wanted, feedback) {
      const { state } = await find(wanted)
      if (state === 'running') throw invalid(null, 'This turn is still running. Give feedback when it has ended.')
      const { requestId, apiKeyId } = wanted
      const given = await store.write.putFeedback({ requestId, apiKeyId, ...feedback }).catch(refuseUnavailable)
      // It was erased, or runs again, since it was read.
      if (!given) throw new ApiError('not_found', 'This turn does not exist.')
      return given
    },
  }
}

/** A turn that has ended, as one that runs: a listener gets its text at once. */
function endedTurn(status: TurnStatus): RunningTurn {
  const { requestId, conversationId, fence, reply } = status
  const text = new TurnText()
  return {
    requestId,
    conversationId,
    fence,
    end: Promise.resolve(endOf(status)),
    listen(listener, after) {
      const stopListening = text.listen(listener, after)
      if (reply) text.complete(reply.content)
      return stopListening
    },
  }
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
