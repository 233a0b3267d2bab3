/** What the HTTP layer learns about a caller. Expected outcomes are values. */

/** An authenticated API key, as of at most one second ago. */
export type ApiKey = {
  id: string
  agentId: string
  ownerId: string
  agentName: string
  agentCreatedAt: number
  permission: 'full' | 'read-only'
  rateLimit: number
  rateWindowSeconds: number
  /** The end user of requests that name none, in protocols that allow it. */
  defaultExternalUserId: string | null
  /** Whether the key may call the agent as an MCP server. */
  mcp: boolean
}

export type Authenticated =
  | { kind: 'authenticated'; apiKey: ApiKey }
  | { kind: 'invalid_api_key' }
  /** The key could not be looked up: 503, never 401. */
  | { kind: 'service_unavailable' }

/** `rate.headers`: the figures of X-RateLimit-*. `resetAt` is in whole Unix seconds. */
export type RateFigures = { limit: number; remaining: number; resetAt: number }

/** `rate.fail-closed`: `exceeded` and `unavailable` are separate values, so that a caller must handle both. */
export type RateOutcome =
  | { kind: 'allowed'; figures: RateFigures }
  | { kind: 'exceeded'; figures: RateFigures; retryAfterSeconds: number }
  | { kind: 'unavailable' }

/**
 * A plain value if it is known immediately: a key that was read within the last second, a window in memory. Most requests wait for no
 * promise.
 */
export type Answer<Value> = Value | Promise<Value>

export interface Access {
  /** Takes the whole Authorization header as received, or undefined. */
  authenticate(authorization: string | undefined): Answer<Authenticated>
  /** `rate.spend`: spends one unit of the key's window. */
  spend(apiKey: ApiKey): Answer<RateOutcome>
}
