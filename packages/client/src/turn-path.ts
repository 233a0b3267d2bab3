/** The paths of a turn below the URL of its agent. */
import { headerOfKey, pathSegment } from './options.ts'

/** Throws TurnkeepError for a request ID that is not one. */
export const turnPath = (requestId: unknown, below: '' | '/stream' | '/cancel' | '/feedback' = ''): string =>
  `/turns/${pathSegment('requestId', requestId)}${below}`

/** Throws TurnkeepError for a key that no message can have. */
export function turnOfKeyPath(idempotencyKey: string): string {
  headerOfKey(idempotencyKey)
  return `/turns?idempotency_key=${encodeURIComponent(idempotencyKey)}`
}
