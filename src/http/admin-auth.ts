/** The admin token: who holds it is the operator. Compared by digest and in constant time, so that neither its length nor its beginning leaks. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../errors.ts'
import { countHeader } from './headers.ts'

/** Reads the Authorization header. Throws ApiError `unauthorized`, the same for every way of being wrong. */
export type AdminAuth = (request: IncomingMessage) => void

export function createAdminAuth(adminToken: string): AdminAuth {
  const expected = digest(adminToken)
  return (request) => {
    // Of two such headers Node keeps the first; a proxy before us may have judged by the other.
    const header = countHeader(request, 'authorization') === 1 ? request.headers.authorization : undefined
    // The scheme is matched without regard to case (`order.authentication`).
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? []
    if (!timingSafeEqual(digest(token), expected)) throw new ApiError('unauthorized')
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
