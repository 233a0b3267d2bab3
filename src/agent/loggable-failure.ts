/** What the log may contain about a failure of a provider, a key or the store: its kind, and the words of Turnkeep (`log.cause-kind`). */
import type { CauseKind } from '../cause-kinds.ts'
import { UnsealError } from '../config/secrets.ts'
import { StoreUnavailable } from '../store/store.ts'
import { ModelError } from './models/model.ts'

/** `err` is an unexpected error, which the log reduces to what is safe. */
export type LoggableFailure = { cause_kind: CauseKind; cause: string; err?: unknown }

export function loggableFailure(error: unknown): LoggableFailure {
  if (error instanceof ModelError) return { cause_kind: error.causeKind, cause: error.ownMessage }
  if (error instanceof UnsealError) return { cause_kind: 'decrypt_failed', cause: error.message }
  if (error instanceof StoreUnavailable) return { cause_kind: 'store_unavailable', cause: error.message }
  return { cause_kind: 'internal_error', cause: 'internal error', err: error }
}
