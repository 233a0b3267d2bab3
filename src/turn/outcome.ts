/** What the door asks of a turn and what it gets back. Expected outcomes are values; nothing here throws. */
import type { FailureCode } from '../errors.ts'
import type { StoredReply, TurnFailureCode } from '../store/turn-records.ts'

export type TurnRequest = {
  apiKeyId: string
  agentId: string
  idempotencyKey: string
  externalUserId: string
  message: string
  /** `overload.places`: whose share of the places it takes: its owner's id, or a name of its own for the operator's messages. */
  shareOf: string
}

export type BeginResult =
  /** Refused before anything was stored; the door answers with the code's status on either transport. */
  | { kind: 'refused'; code: FailureCode }
  /** `order.validation`: a fault of the request that only its agent makes one. `longest` in code points. */
  | { kind: 'message_too_long'; longest: number }
  /** `idempotency.replay`: the first request's stored result. */
  | { kind: 'replay'; reply: StoredReply }
  /** The stored failure of a turn that ended for good: JSON with its status on either transport, under the stored request id. */
  | { kind: 'replayed_failure'; requestId: string; code: TurnFailureCode }
  | { kind: 'running'; turn: RunningTurn }

/** A turn that runs on whether or not anybody listens. */
export interface RunningTurn {
  readonly requestId: string
  readonly conversationId: string
  /** Called synchronously for each piece of text from now on; answers a function that ends the subscription. At most one listener. */
  listen(onDelta: (delta: string) => void): () => void
  /** Never rejects. The reply is told after its settlement is durable. */
  readonly end: Promise<TurnEnd>
}

export type TurnEnd = { kind: 'completed'; reply: StoredReply } | { kind: 'failed'; code: TurnFailureCode }
