/** The paths of a turn below the URL of its agent. */
import { pathSegment } from './options.ts'

/** Throws TurnkeepError for a request ID that is not one. */
export const turnPath = (requestId: unknown, below: '' | '/stream' | '/cancel' | '/feedback' = ''): string =>
  `/turns/${pathSegment('requestId', requestId)}${below}`
