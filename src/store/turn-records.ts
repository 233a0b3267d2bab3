/**
 * What the turn path stores and reads: admission, journal, settlement, failure, leases and claims. Times are epoch milliseconds by the store's
 * clock, amounts 10⁻⁸ USD.
 */
import type { Amount, Price } from '../ledger/ledger.ts'

/** `idempotency.lifetime`: 24 hours from the turn's end. */
export const recordLifetimeMs = 24 * 60 * 60 * 1000

export type Role = 'user' | 'assistant'
export type HistoryMessage = { role: Role; content: string }
/** A history that came as texts alone: they alternate, and a user's is the first (`roles_alternate`). */
export const historyOf = (texts: string[]): HistoryMessage[] =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))

/** What one request asks of the admission transaction. */
export type Admission = {
  apiKeyId: string
  agentId: string
  idempotencyKey: string
  fingerprint: Uint8Array
  externalUserId: string
  message: string
  /** Code points of the message; above the agent's `max_message_length` it is refused, unless it is a replay. */
  messageLength: number
  /** `billing.hold`: ceil(UTF-8 bytes of the message / 2). */
  messageTokens: number
  /** Ids used when a new turn or conversation begins; a stored one keeps its own. The request id is this call's alone: it also tells its own turn again. */
  requestId: string
  conversationId: string
  leaseMs: number
  /** False while the process is full or draining: replays and conflicts are answered, but nothing new is admitted. */
  mayRun: boolean
}

export type AdmissionOutcome =
  | { kind: 'admitted'; turn: AdmittedTurn }
  | { kind: 'replay'; reply: StoredReply }
  /** A turn that ended as failed: the same stored failure for 24 hours. */
  | { kind: 'replayed_failure'; requestId: string }
  | { kind: 'idempotency_conflict' }
  | { kind: 'idempotency_in_progress' }
  /** The turn was answered, then its text was erased. */
  | { kind: 'erased' }
  /** `order.validation`: longer than the agent takes, and no stored answer of this very request. `longest` in code points. */
  | { kind: 'message_too_long'; longest: number }
  | { kind: 'agent_not_found' }
  | { kind: 'agent_disabled' }
  | { kind: 'conversation_busy' }
  | { kind: 'insufficient_balance' }
  | { kind: 'overloaded' }

/** A running turn as its process needs it: admitted just now, or claimed by recovery. */
export type AdmittedTurn = {
  requestId: string
  conversationId: string
  apiKeyId: string
  agentId: string
  /** The agent's version of this run: the snapshot that is used to the end. `retry.continues`: a run that continues keeps the earlier run's. */
  agentVersion: number
  /** Rises at every run and claim and never falls; every write of the run is fenced by it. */
  fence: number
  /** 1 for the first run of a request, one more for each run after a release. */
  run: number
  /** 1 to 3 within a run; every claim by recovery counts one more. */
  attempt: number
  message: string
  price: Price
  hold: Amount
  /** The newest whole exchanges that fit the agent's history window, oldest first. */
  history: HistoryMessage[]
  /**
   * What was journalled of this run and of the earlier runs that it continues, in order: by run, step and part, and of one part the model's,
   * started, finished. Empty at an admission that continues nothing. Steps go on counting over continued runs.
   */
  journal: JournalEntry[]
  /** The highest step of earlier runs that this one does not continue, 0 for none: it counts on from there, since a tool call is named by its step. */
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
}

/** A step that does not end the turn, written before the next one begins. `part` tells the tool calls of a step apart; `payload` is JSON the agent room owns. */
export type JournalEntry = { step: number; part: number; kind: 'model' | 'tool_started' | 'tool_finished'; payload: string }

/** Asked again it stores nothing twice: an entry whose step, part and kind the run has already is left as it was first told. */
export type Advance = {
  requestId: string
  fence: number
  entries: JournalEntry[]
  /** The turn's whole hold from now on; a smaller one than the present leaves it as it is. */
  hold: Amount
  /**
   * Among the entries is the finish of a tool call with side effects. `retry.continues`: every later run of this request continues from this
   * run, or from an earlier one that it continues itself: it keeps the version and the price, and is handed what was journalled since.
   */
  finishedSideEffects: boolean
}
/** `insufficient_balance`: the entries are not stored either; `lost`: the fence has risen or the turn has ended. */
export type AdvanceOutcome = { kind: 'advanced' } | { kind: 'insufficient_balance' } | { kind: 'lost' }

/** A passage that a reply leans on. `section`: its headings, as in 'Returns › Deadlines'; '' where there are none. */
export type Citation = { documentId: string; title: string; section: string }

/** Settlement: both messages, charge, hold released, record completed; all or nothing. */
export type Settlement = {
  requestId: string
  fence: number
  userMessageId: string
  assistantMessageId: string
  ledgerEntryId: string
  content: string
  /** Tokens the reply will count in a later history (`tokenBound`). */
  contentTokens: number
  /** Stored with the reply, for the operator alone: neither the reply nor a public listing shows them. */
  citations: Citation[]
  promptTokens: number
  completionTokens: number
  usageEstimated: boolean
  charged: Amount
  writtenOff: Amount
  /** Times since admission, for the operator; milliseconds. */
  firstDeltaMs: number | null
}
export type SettlementOutcome = { kind: 'settled'; reply: StoredReply } | { kind: 'lost' }

export type TurnFailureCode = 'service_unavailable' | 'insufficient_balance' | 'internal_error'
/** `released`: a retry runs again under the same request_id. `failed`: final for 24 hours. Either way: no charge, hold given back, no message. */
export type TurnFailure = {
  requestId: string
  fence: number
  state: 'released' | 'failed'
  code: TurnFailureCode
  /** For the operator alone; never leaves by the public API. */
  cause: string
}
export type TurnFailureOutcome = { kind: 'ended' } | { kind: 'lost' }

export type Lease = { requestId: string; fence: number }

export type Claims = {
  turns: AdmittedTurn[]
  /** Orphans whose third attempt was used up: now failed. */
  exhausted: string[]
}
