/** The admin token: who holds it is the operator. Compared by digest and in constant time, so that neither its length nor its beginning leaks. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../errors.ts'

/** Takes the Authorization header as it came. Throws ApiError `unauthorized`, the same for every way of being wrong. */
export type AdminAuth = (authorization: string | undefined) => void

export function createAdminAuth(adminToken: string): AdminAuth {
  const expected = digest(adminToken)
  return (authorization) => {
    // The scheme is matched without regard to case (rulings, `order.*` 2).
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
    if (!timingSafeEqual(digest(token), expected)) throw new ApiError('unauthorized')
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
