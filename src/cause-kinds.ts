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
  'empty_reply',
  'step_limit',
  'tool_call_limit',
  'tool_call_cut_off',
  /** A call of a tool with side effects has started, and its end is unknown. */
  'tool_outcome_unknown',
  'insufficient_balance',
  'turn_timeout',
  /** The process died in each attempt. */
  'process_died',
  'store_unavailable',
  'internal_error',
] as const

export type CauseKind = (typeof causeKinds)[number]

/** Returns the kind for a status of a provider other than 200. */
export function kindOfStatus(status: number): CauseKind {
  const exact = causeKinds.find((kind) => kind === `provider_${status}`)
  if (exact) return exact
  if (status < 300) return 'provider_2xx'
  if (status < 400) return 'provider_3xx'
  return status < 500 ? 'provider_4xx' : 'provider_5xx'
}
