/**
 * Why a turn ended without a reply: the closed list of causes that a log line, a metric or a report may name (`log.cause-kind`). A kind
 * contains no text from a user, a document or a provider. docs/operate/causes.md says what to do about each.
 */

/** Statuses of a provider that are named exactly. Any other one is named by its first digit. */
const statuses = [400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529] as const

export const causeKinds = [
  ...statuses.map((status) => `provider_${status}` as const),
  'provider_2xx',
  'provider_3xx',
  'provider_4xx',
  'provider_5xx',
  /** The provider does not know the model, or the key may not use it. */
  'model_not_found',
  'prompt_too_long',
  /** No connection, or it broke before the answer started. */
  'provider_unreachable',
  'provider_timeout',
  /** The answer ended before it was complete. */
  'provider_interrupted',
  /** The provider reported an error in its answer. */
  'provider_error',
  'invalid_answer',
  /** The answer exceeds the limits of answer-limit.ts. */
  'answer_too_large',
  /** The agent names a provider that does not exist. */
  'provider_not_found',
  /** The kind or the base URL of the provider, or the name of the model, cannot be used. */
  'provider_unusable',
  'decrypt_failed',
  /** The model declined to answer, and said nothing. */
  'refused',
  /** A content filter of the provider withheld the answer. */
  'filtered',
  'empty_reply',
  /** The model reached its output limit before any text. */
  'reply_cut_off',
  'step_limit',
  'tool_call_limit',
  'tool_call_cut_off',
  /** A call of a tool with side effects has started, and its end is unknown. */
  'tool_outcome_unknown',
  'insufficient_balance',
  'spend_limit_exceeded',
  'turn_timeout',
  /** The process died in each attempt. */
  'process_died',
  'store_unavailable',
  'internal_error',
] as const

export type CauseKind = (typeof causeKinds)[number]

/**
 * `billing.unpaid`: whether a caller can trigger the cause, alone or with the model of its agent. Only then does what the turn used stay
 * reserved on its owner. Failures of the provider and of the service reserve nothing, because no caller can repeat them for free text.
 */
const callersCanCause: Record<Exclude<CauseKind, `provider_${string}`>, boolean> = {
  prompt_too_long: true,
  answer_too_large: true,
  refused: true,
  filtered: true,
  empty_reply: true,
  reply_cut_off: true,
  step_limit: true,
  tool_call_limit: true,
  tool_call_cut_off: true,
  tool_outcome_unknown: true,
  insufficient_balance: true,
  spend_limit_exceeded: true,
  turn_timeout: true,
  model_not_found: false,
  invalid_answer: false,
  decrypt_failed: false,
  process_died: false,
  store_unavailable: false,
  internal_error: false,
}

/** `billing.unpaid`: whether what a turn used that ended for this cause is reserved. Null: it was cancelled, which a caller does. */
export const reservesUnpaid = (kind: CauseKind | null): boolean => kind === null || (!isOfProvider(kind) && callersCanCause[kind])

const isOfProvider = (kind: CauseKind): kind is CauseKind & `provider_${string}` => kind.startsWith('provider_')

/** Returns the kind for a status of a provider other than 200. */
export function kindOfStatus(status: number): CauseKind {
  const exact = causeKinds.find((kind) => kind === `provider_${status}`)
  if (exact) return exact
  if (status < 300) return 'provider_2xx'
  if (status < 400) return 'provider_3xx'
  return status < 500 ? 'provider_4xx' : 'provider_5xx'
}
