/**
 * `overload.bodies`: limits the memory of request bodies that have not ended or wait to be parsed, by owner, by principal of the admin API and,
 * for what needs no sign-in, by address. A sender that starts many bodies and ends none is refused, and no one else is.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { networkOf } from '../console/guess-limit.ts'
import { ByteBudget } from './byte-budget.ts'

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

export type UnfinishedBody = {
  /** Call it before the body has `bytes` in memory, and do not keep them if it returns an error, ApiError `service_unavailable`. */
  grow(bytes: number): ApiError | undefined
  /** The body is no longer in memory as bytes. Call it once. */
  end(): void
}

declare module 'fastify' {
  interface FastifyInstance {
    unfinishedBodies: {
      /** Throws ApiError `service_unavailable`. */
      start(request: FastifyRequest): UnfinishedBody
    }
  }
}

/** Adds `app.unfinishedBodies`. */
export function limitUnfinishedBodies(app: FastifyInstance): void {
  const known = new ByteBudget(maxOfOne, maxOfAll)
  const anonymous = new ByteBudget(maxOfAddress, maxOfAddresses)

  app.decorate('unfinishedBodies', {
    start(request) {
      const sender = senderOf(request)
      const budget = sender === undefined ? anonymous : known
      const who = sender ?? networkOf(request.raw.socket.remoteAddress ?? '')
      let counted = 0
      const grow = (bytes: number): ApiError | undefined => {
        const more = bytes - counted
        if (more <= 0) return undefined
        if (!budget.allows(who, more, counted)) return new ApiError('service_unavailable', tooMany)
        budget.add(who, more)
        counted = bytes
        return undefined
      }
      const end = (): void => budget.add(who, -counted)
      const refused = grow(smallest)
      if (refused) throw refused
      return { grow, end }
    },
  })
}

/** Who takes turns and has limits: the owner of the API key, or the principal. Undefined for a request without either. */
export const senderOf = ({ caller, principalName }: Partial<FastifyRequest>): string | undefined => caller?.apiKey.ownerId ?? principalName
