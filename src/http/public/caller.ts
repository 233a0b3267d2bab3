/**
 * Authenticates and rate-limits a caller by its headers, before the body is read: `order.authentication`, `order.permission`,
 * `order.rate-limit`. An `onRequest` hook of every public API route that sets `request.caller`. Its errors never reveal which agents exist.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, ApiKey, RateFigures } from '../../access/outcome.ts'
import { isAgentOf } from '../../agent-slug.ts'
import { ApiError } from '../../errors.ts'
import { note } from '../edge/access-log.ts'
import { startInTurn } from '../edge/fair-start.ts'
import { countHeader } from '../edge/headers.ts'

export type Caller = { apiKey: ApiKey; figures: RateFigures }

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `admitCaller`, so only available in the routes of the public API. */
    caller: Caller
  }
}

/**
 * Throws the ApiError of the first check that fails. For a 429, also sets the rate limit headers on the reply. `agentOf`: the agent that the
 * path names; by default none, and the agent is that of the key.
 */
export function admitCaller(access: Access, agentOf?: (request: FastifyRequest) => string) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const apiKey = await authenticate(access, request)
    note(request.raw, { keyId: apiKey.id, agentId: apiKey.agentId })
    // The percent-decoded path is compared with the key's agent. The agent in the path is never looked up.
    if (agentOf && !isAgentOf(apiKey, agentOf(request))) throw new ApiError('agent_mismatch')
    if (request.method === 'POST' && apiKey.permission !== 'full') throw new ApiError('permission_denied')
    // mutant: rate.spend
    request.caller = { apiKey, figures: await spend(access, apiKey, reply) }
  }
}

/** The caller as a reader of what it has stored, and the owner to whose share its reads count. */
export const readerOf = ({ caller: { apiKey } }: FastifyRequest): { apiKeyId: string; shareOf: string } => ({
  apiKeyId: apiKey.id,
  shareOf: apiKey.ownerId,
})

export const agentInPath = (request: FastifyRequest): string => (request.params as { agent_id: string }).agent_id

/** Throws ApiError `invalid_api_key` or `service_unavailable`. */
export async function authenticate(access: Access, request: FastifyRequest): Promise<ApiKey> {
  // Of two Authorization headers Node keeps the first, while a proxy in front may have checked the second.
  const header = countHeader(request.raw, 'authorization') > 1 ? undefined : request.headers.authorization
  const outcome = await access.authenticate(header)
  switch (outcome.kind) {
    case 'authenticated':
      return outcome.apiKey
    case 'invalid_api_key':
    case 'service_unavailable':
      // `overload.starts`: thousands of refusals take turns with the requests of others.
      await startInTurn(request)
      throw new ApiError(outcome.kind)
  }
}

/** Takes one unit of the rate limit window: `rate.spend`, `rate.fail-closed`. */
export async function spend(access: Access, apiKey: ApiKey, reply: FastifyReply): Promise<RateFigures> {
  const outcome = await access.spend(apiKey)
  switch (outcome.kind) {
    case 'allowed':
      return outcome.figures
    case 'exceeded':
      reply.headers(rateHeaders(outcome.figures))
      throw new ApiError('rate_limit_exceeded', undefined, { retryAfterSeconds: outcome.retryAfterSeconds })
    case 'unavailable':
      throw new ApiError('api_rate_limit_unavailable')
  }
}

/** The X-RateLimit headers, sent only on a JSON 200 and on a 429 (`rate.headers`). */
export const rateHeaders = ({ limit, remaining, resetAt }: RateFigures): Record<string, string> => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetAt),
})
