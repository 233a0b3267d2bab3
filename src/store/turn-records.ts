/**
 * The records of the turn path: admission, journal, settlement, failure, leases and claims. Times are epoch milliseconds by the store's
 * clock, amounts are in 10⁻⁸ USD.
 */
import type { CauseKind } from '../cause-kinds.ts'
import type { ReplyFinishReason } from '../finish-reason.ts'
import type { Amount, Price } from '../ledger/ledger.ts'

/** `idempotency.lifetime`: 24 hours from the end of the turn. */
// mutant: idempotency.lifetime
export const recordLifetimeMs = 24 * 60 * 60 * 1000
/** `order.validation`: the maximum length of a message in code points, of a new agent and if the agent was deleted. */
export const defaultMaxMessageLength = 32_000
/** `turn.states`: the attempts of a run whose process dies. More crashes than this are not a coincidence. */
export const maxAttempts = 3

export type Role = 'user' | 'assistant'
export type HistoryMessage = { role: Role; content: string }
/** A history as texts only. Roles alternate, and the first is the user's (`roles_alternate`). */
export const historyOf = (texts: string[]): HistoryMessage[] =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))

/** The input of the admission transaction. */
export type Admission = {
  apiKeyId: string
  agentId: string
  /** The owner of the agent, if it is known here. */
  ownerId: string | undefined
  idempotencyKey: string
  fingerprint: Uint8Array
  externalUserId: string
  message: string
  /** Code points of the message. Above the agent's `max_message_length` it is refused, unless it is a replay. */
  messageLength: number
  /** `billing.hold`: ceil(UTF-8 bytes of the message / 2). */
  messageTokens: number
  /**
   * IDs for a new turn or conversation; an existing one keeps its own. The request ID identifies this call, so a repeated call finds its
   * own turn.
   */
  requestId: string
  conversationId: string
  /** `trace.context`: the W3C traceparent header of the request, or null. */
  traceparent: string | null
  leaseMs: number
  /** False while the process is full or draining: replays and conflicts are answered, but no turn is admitted. */
  mayRun: boolean
}

/**
 * `billing.spend-limit`: the hold does not fit in a window of a limit. The seconds until the last of these windows ends, at least 1; null if
 * one of them never ends.
 */
export type SpendLimitExceeded = { kind: 'spend_limit_exceeded'; retryAfterSeconds: number | null }

export type Admitted = { kind: 'admitted'; turn: AdmittedTurn }

export type AdmissionOutcome =
  | Admitted
  | { kind: 'replay'; reply: StoredReply }
  /** A replay whose reply is larger than `largeReply`: read it with `read.findReply`. */
  | { kind: 'large_replay'; requestId: string; bytes: number }
  /** A turn that failed or was cancelled: the same stored failure for 24 hours. */
  | { kind: 'replayed_failure'; requestId: string; code: TurnFailureCode }
  | { kind: 'idempotency_conflict' }
  | { kind: 'idempotency_in_progress' }
  /** The turn ended, with or without a reply, and its text was erased later. */
  | { kind: 'erased' }
  /** `order.validation`: longer than the agent allows, and no stored result of the same request. `longest` in code points. */
  | { kind: 'message_too_long'; longest: number }
  | { kind: 'agent_not_found' }
  | { kind: 'agent_disabled' }
  | { kind: 'conversation_busy' }
  | SpendLimitExceeded
  | { kind: 'insufficient_balance' }
  | { kind: 'overloaded' }

/** A running turn as its process needs it: just admitted, or claimed by recovery. */
export type AdmittedTurn = {
  requestId: string
  conversationId: string
  apiKeyId: string
  agentId: string
  /** The version of the agent for the whole run. `retry.continues`: a run that continues an earlier one keeps its version. */
  agentVersion: number
  /** Rises with every run and every claim, and never falls. Every write of the run is fenced by it. */
  fence: number
  /** 1 for the first run of a request, one more for each run after a release. */
  run: number
  /** 1 to 3 within a run. Every claim by recovery counts one more. */
  attempt: number
  message: string
  traceparent: string | null
  /** `turn.cancel`: a cancel was requested before this process claimed the turn. */
  cancelRequested: boolean
  price: Price
  hold: Amount
  /** The newest whole exchanges that fit in the agent's history window, oldest first. */
  history: HistoryMessage[]
  /**
   * The journal of this run and of the earlier runs that it continues, ordered by run, step and part, and for one part by model, started,
   * finished. Empty for an admission that continues nothing. Step numbers continue over continued runs.
   */
  journal: JournalEntry[]
  /**
   * The highest step of earlier runs that this one does not continue, or 0. Step numbers continue from there, because a tool call is
   * identified by its step.
   */
  stepsBefore: number
}

export type StoredReply = {
  requestId: string
  conversationId: string
  messageId: string
  content: string
  createdAt: number
  promptTokens: number
  completionTokens: number
  charged: Amount
  /** `turn.cancel`: the turn was cancelled, and this is the text that had been generated. */
  incomplete: boolean
  /** `turn.finish-reason`: null if the turn was cancelled, and of replies of older releases. */
  finishReason: ReplyFinishReason | null
}

/**
 * A step that does not end the turn, stored before the next one starts. `part` distinguishes the tool calls of a step. `payload` is JSON
 * that the agent module defines.
 */
export type JournalEntry = { step: number; part: number; kind: 'model' | 'tool_started' | 'tool_finished'; payload: string }

/** Can be repeated: an entry is skipped if this run, or one that it continues, has an entry with the same step, part and kind. */
export type Advance = {
  requestId: string
  fence: number
  entries: JournalEntry[]
  /** The whole hold of the turn from now on. A smaller amount than the current hold changes nothing. */
  hold: Amount
  /**
   * One of the entries is the end of a tool call with side effects. `retry.continues`: every later run of this request continues from this
   * run, or from an earlier one that it continues itself. It keeps the version and the price, and receives the journal since then.
   */
  finishedSideEffects: boolean
}
/**
 * `insufficient_balance`, `spend_limit_exceeded`: the entries are not stored either. `lost`: the fence has risen or the turn has ended.
 */
export type AdvanceOutcome = { kind: 'advanced' } | SpendLimitExceeded | { kind: 'insufficient_balance' } | { kind: 'lost' }

/** Stored as bytes; text in UTF-8. */
export type EncodedTrace = string | Uint8Array

/** A passage that a reply uses. `section`: its headings, such as 'Returns › Deadlines', or ''. */
export type Citation = { documentId: string; title: string; section: string }

/** The settlement: both messages, the charge, the released hold and the completed record; all or nothing. */
export type Settlement = {
  requestId: string
  fence: number
  userMessageId: string
  assistantMessageId: string
  ledgerEntryId: string
  content: string
  /** The tokens that the reply will count in a later history (`tokenBound`). */
  contentTokens: number
  /** Stored with the reply for the operator only. Neither the reply nor a public list shows them. */
  citations: Citation[]
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  completionTokens: number
  reasoningTokens: number
  usageEstimated: boolean
  /** `billing.tool-price`: what its finished tool calls cost. Part of the charge. */
  toolCalls: Amount
  charged: Amount
  writtenOff: Amount
  /** Milliseconds from the admission or claim by this process to the first delta, for the operator. Null without a delta. */
  firstDeltaMs: number | null
  /** `turn.cancel`: only for a turn whose cancel was requested; otherwise the store refuses it (`cancelled_was_requested`). */
  incomplete: boolean
  /** `turn.finish-reason`: null exactly if the reply is incomplete (`only_a_reply_has_a_finish_reason`). */
  finishReason: ReplyFinishReason | null
  /** `trace.stored`: see src/agent/trace.ts. Null if traces are off. */
  trace: EncodedTrace | null
}
export type SettlementOutcome = { kind: 'settled'; reply: StoredReply } | { kind: 'lost' }

export type TurnFailureCode = 'service_unavailable' | 'insufficient_balance' | 'spend_limit_exceeded' | 'internal_error' | 'turn_cancelled'
/**
 * `released`: a retry runs again with the same request ID. `failed` and `cancelled`: final for 24 hours. In all cases there is no
 * message, the hold is released, and nothing is charged except the finished tool calls of a cancelled turn.
 */
export type TurnFailure = {
  requestId: string
  fence: number
  state: 'released' | 'failed' | 'cancelled'
  code: TurnFailureCode
  /** For the operator only. Never part of the public API. */
  cause: string
  /** Null for a cancelled turn, which is not an error (`turn.errors`). */
  causeKind: CauseKind | null
  /** `billing.unpaid`: what this run used, at its price. What exceeds the hold does not count. `causeKind` decides whether it is reserved. */
  unpaid: Amount
  /**
   * `billing.tool-price`: of a cancelled turn, its finished tool calls, if they cost something. A turn without a reply charges nothing else.
   */
  charge?: { ledgerEntryId: string; toolCalls: Amount; charged: Amount; writtenOff: Amount }
  /** The hold that the balance did not cover, or 0. */
  neededHold: Amount
  /** `trace.stored`: see src/agent/trace.ts. Null if traces are off. */
  trace: EncodedTrace | null
}
export type TurnFailureOutcome = { kind: 'ended' } | { kind: 'lost' }

export type Lease = { requestId: string; fence: number }

export type Claims = {
  turns: AdmittedTurn[]
  /** Orphans that had used their third attempt and have now failed. */
  exhausted: string[]
}
