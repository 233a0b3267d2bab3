/**
 * `admin.limits`: what one principal of the admin API may ask of a process: requests in a window of a minute, and requests in progress. A
 * principal is an operator with all its sessions, or a token. The admin token is two: what sends it, and the sessions that it has opened, so that
 * a script cannot shut out the console. The counts are in the memory of this process, so that an operator can work while the store of rate
 * limits is down.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createMemoryWindow } from '../../access/rate-window.ts'
import { ApiError } from '../../errors.ts'
import type { Principal } from '../../operators/principal.ts'
import { rateHeaders } from '../public/caller.ts'

export type PrincipalLimits = {
  /** Requests per minute. */
  rate: number
  /** Requests in progress. */
  parallel: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The name that the limits of a principal are counted by. Only set in the admin API, and not on routes that need no sign-in. */
    principalName: string | undefined
  }
}

const windowSeconds = 60

/**
 * Returns a function to call with each request that was authenticated. It adds the headers of the rate limit, and throws ApiError
 * `rate_limit_exceeded`. `hasSession`: whether the request was authenticated by a session.
 */
export function createPrincipalLimit({ rate, parallel }: PrincipalLimits, monotonicMs: () => number) {
  const window = createMemoryWindow({ monotonicMs, wallMs: Date.now })
  const running = new Map<string, number>()

  return (principal: Principal, hasSession: boolean, request: FastifyRequest, reply: FastifyReply): void => {
    const name = principal.who === 'admin_token' ? `admin_token${hasSession ? ' sessions' : ''}` : principal.id
    request.principalName = name
    const outcome = window.spendNow!({ apiKeyId: name, limit: rate, windowSeconds })
    if (outcome.kind === 'unavailable') throw new ApiError('service_unavailable')
    const { figures } = outcome
    reply.headers(rateHeaders(figures))
    if (outcome.kind === 'exceeded')
      throw new ApiError('rate_limit_exceeded', tooOften(rate), { retryAfterSeconds: outcome.retryAfterSeconds })
    const before = running.get(name) ?? 0
    if (before >= parallel) throw new ApiError('rate_limit_exceeded', tooMany(parallel), { retryAfterSeconds: 1 })
    // It has left during the authentication, and no event would end the count.
    if (reply.raw.destroyed) throw new ApiError('bad_request')
    running.set(name, before + 1)
    // The only event that every response emits, even if the sender has disconnected.
    reply.raw.once('close', () => {
      const left = running.get(name)! - 1
      if (left > 0) running.set(name, left)
      else running.delete(name)
    })
  }
}

export type PrincipalLimit = ReturnType<typeof createPrincipalLimit>

const tooOften = (rate: number): string =>
  `This operator or token has sent ${rate} requests within a minute, which is the limit (TURNKEEP_ADMIN_RATE_LIMIT). Retry after the number of seconds in the Retry-After header.`
const tooMany = (parallel: number): string =>
  `This operator or token has ${parallel} requests in progress, which is the limit (TURNKEEP_ADMIN_MAX_PARALLEL). Wait until one of them has ended, then retry.`
