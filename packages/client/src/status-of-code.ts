/** The status of each code that can end a stream, because the stream itself had the status 200. */
export const statusOfCode: Readonly<Record<string, number>> = {
  invalid_api_key: 401,
  insufficient_balance: 402,
  agent_mismatch: 403,
  permission_denied: 403,
  agent_disabled: 403,
  agent_not_found: 404,
  not_found: 404,
  idempotency_conflict: 409,
  idempotency_in_progress: 409,
  conversation_busy: 409,
  turn_cancelled: 409,
  validation_error: 422,
  rate_limit_exceeded: 429,
  internal_error: 500,
  api_rate_limit_unavailable: 503,
  service_unavailable: 503,
}
