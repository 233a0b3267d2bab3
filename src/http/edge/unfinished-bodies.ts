/**
 * `overload.bodies`: limits the memory of request bodies whose end has not arrived, by API key, by principal of the admin API and, for what
 * needs no sign-in, by address. A sender that starts many bodies and ends none is refused, and no one else is.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { networkOf } from '../console/guess-limit.ts'
import { createByteBudget } from './byte-budget.ts'

// 16 MiB: sixteen of the largest bodies, or 2,048 small ones.
const maxOfOne = 16 * 1024 * 1024
// 128 MiB. A sender without an unfinished body may start one all the same.
const maxOfAll = 128 * 1024 * 1024
// Anyone may send a sign-in of 16 KiB. 128 of them by address, which is shared behind a proxy, and a budget of their own: they take nothing
// from those who have signed in.
const maxOfAddress = 2 * 1024 * 1024
const maxOfAddresses = 16 * 1024 * 1024
// What a request costs before its body has any bytes.
const smallest = 8 * 1024

const tooMany =
  'Too many request bodies have started and not ended. Send each body completely before you start the next, or retry after the number of seconds in the Retry-After header.'

export type UnfinishedBodies = {
  /**
   * Counts a body whose end has not arrived. Throws ApiError `service_unavailable`. `grow`: call it before `bytes` are held, and do not hold
   * them if it returns an error. Call `end` once.
   */
  start(request: FastifyRequest): { grow(bytes: number): ApiError | undefined; end(): void }
}

declare module 'fastify' {
  interface FastifyInstance {
    unfinishedBodies: UnfinishedBodies
  }
}

/** Adds `app.unfinishedBodies`. */
export function limitUnfinishedBodies(app: FastifyInstance): void {
  const known = createByteBudget({ maxOfOne, maxOfAll })
  const anonymous = createByteBudget({ maxOfOne: maxOfAddress, maxOfAll: maxOfAddresses })

  app.decorate('unfinishedBodies', {
    start(request) {
      const sender = senderOf(request)
      const share = sender === undefined ? anonymous.open(networkOf(request.raw.socket.remoteAddress ?? '')) : known.open(sender)
      let counted = 0
      const grow = (bytes: number): ApiError | undefined => {
        if (bytes <= counted) return undefined
        // mutant: overload.bodies
        if (!share.grow(bytes - counted)) return new ApiError('service_unavailable', tooMany)
        counted = bytes
        return undefined
      }
      const refused = grow(smallest)
      if (!refused) return { grow, end: share.close }
      share.close()
      throw refused
    },
  })
}

/** Who has sent a request: the ID of its API key, or the name of its principal. Undefined for a request without either. */
export const senderOf = ({ caller, principalName }: Partial<FastifyRequest>): string | undefined => caller?.apiKey.id ?? principalName
