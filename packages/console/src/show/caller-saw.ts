/** What the caller of a turn got, from the state and the failure code of the turn, as docs/errors describes it. Pure. */
import type { Turn } from '../api/types.ts'

/** The HTTP status of each code that a turn can end with. */
export const statusOfCode: Readonly<Record<string, number>> = {
  agent_disabled: 403,
  agent_not_found: 404,
  insufficient_balance: 402,
  spend_limit_exceeded: 402,
  service_unavailable: 503,
  turn_cancelled: 409,
  internal_error: 500,
  validation_error: 422,
  conversation_busy: 409,
}

export type CallerSaw = {
  /** Of `/chat`. */
  response: string
  /** Of `/chat/stream`. */
  stream: string
  /** What a retry with the same Idempotency-Key gets. */
  retry: string
}

const retries = {
  completed: 'A retry gets the stored reply again, without a charge.',
  failed: 'For 24 hours, a retry gets the same error.',
  cancelled: 'For 24 hours, a retry gets the same error.',
  released: 'A retry runs the turn again under the same request ID.',
  running: 'A retry gets 409 idempotency_in_progress until the turn has ended.',
} as const

export function callerSaw({ state, failure, incomplete, first_delta_ms: firstDeltaMs }: Turn): CallerSaw {
  const retry = retries[state]
  if (state === 'running') return { response: 'No response yet', stream: 'The text so far', retry }
  if (state === 'completed')
    return {
      response: 'HTTP 200 with the reply',
      stream: `the text, then response.completed${incomplete ? ' with incomplete: true' : ''}`,
      retry,
    }
  const code = failure?.code ?? (state === 'cancelled' ? 'turn_cancelled' : 'internal_error')
  const after = code === 'service_unavailable' ? ', Retry-After: 5' : ''
  return {
    response: `HTTP ${statusOfCode[code] ?? 500} ${code}${after}`,
    stream: `${firstDeltaMs === null ? '' : 'the text so far, then '}the event error with the code ${code}`,
    retry,
  }
}
