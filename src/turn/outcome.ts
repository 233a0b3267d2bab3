/** What the HTTP layer passes to a turn and what it receives. Expected outcomes are values; nothing here throws. */
import type { FailureCode } from '../errors.ts'
import type { UsageDetails } from '../store/queries/columns.ts'
import type { StoredReply, TurnFailure, TurnFailureCode } from '../store/turn-records.ts'
import type { TextListener, TextPosition } from './turn-text.ts'

export type TurnRequest = {
  apiKeyId: string
  agentId: string
  idempotencyKey: string
  externalUserId: string
  message: string
  /** `trace.context`: the valid W3C traceparent header of the request, or null. */
  traceparent: string | null
  /** `overload.places`: the ID of the owner to whose share of the slots the turn counts, or `operatorShare`. */
  shareOf: string
}

/** The share of messages that operators of the whole installation send in the playground. */
export const operatorShare = 'operator'

export type BeginResult =
  /**
   * Refused before anything was stored. The response has the code's status on both transports. `blockedBy`: the request ID of the running turn
   * because of which the message was refused, if it was found: that of the same Idempotency-Key (`idempotency.in-progress`), or another one of
   * the same API key and end user (`conversation.busy`).
   */
  | { kind: 'refused'; code: FailureCode; retryAfterSeconds?: number | undefined; blockedBy?: string | undefined }
  /** `order.validation`: the message is longer than its agent allows. `longest` is that limit in code points. */
  | { kind: 'message_too_long'; longest: number }
  /** `idempotency.replay`: the stored result of the first request. */
  | { kind: 'replay'; reply: StoredReply }
  /** The stored failure of a turn that has ended: JSON with its status on both transports, with the stored request ID. */
  | { kind: 'replayed_failure'; requestId: string; code: TurnFailureCode }
  | { kind: 'running'; turn: RunningTurn }

/** A turn that keeps running whether or not a caller listens. */
export interface RunningTurn {
  readonly requestId: string
  readonly conversationId: string
  /** Of the attempt whose text is passed on. */
  readonly fence: number
  /**
   * Passes on the text after `after` (default: all of it) synchronously, and all later text until the turn ends (`stream.resume`). Any number
   * of listeners may listen. Returns a function that ends the subscription.
   */
  listen(listener: TextListener, after?: TextPosition): () => void
  /** Never rejects. Resolves with the reply after its settlement is durable, and after the listeners have got all of its text. */
  readonly end: Promise<TurnEnd>
}

export type TurnEnd =
  /** `details`: absent if the reply was read without them. */
  | { kind: 'completed'; reply: StoredReply; details?: UsageDetails | undefined }
  /** `state`: how the turn is stored. Null: this process does not know, and another one may still complete it (`unavailable.unknown`). */
  | { kind: 'failed'; code: TurnFailureCode; state: TurnFailure['state'] | null; retryAfterSeconds?: number | undefined }
