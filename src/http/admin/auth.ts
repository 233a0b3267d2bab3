/**
 * Who is the operator: whoever sends the admin token, or the cookie of a session of the console. The token is compared by digest and in constant
 * time, so that neither its length nor its beginning leaks; a session is one look-up in the store, and never stands in for a token that is wrong (`session.origin`).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AdminCalls } from '../../admin/admin.ts'
import { ApiError } from '../../errors.ts'
import { readSessionSecret } from '../console/cookie.ts'
import { countHeader } from '../edge/headers.ts'

type FindSession = AdminCalls['findSession']
export type Session = NonNullable<Awaited<ReturnType<FindSession>>>

/** In constant time for a wrong one. */
export type TokenCheck = (token: string) => boolean
/** Reads the Authorization header alone. Throws ApiError `unauthorized`. */
export type TokenAuth = (request: IncomingMessage) => void
/**
 * Answers the session where it was a cookie; nothing where it was the token. Throws ApiError `unauthorized`, the same for every way of being
 * wrong, and `service_unavailable` where the store cannot say.
 */
export type AdminAuth = (request: IncomingMessage) => Promise<Session | undefined>

export function createTokenCheck(adminToken: string): TokenCheck {
  const expected = digest(adminToken)
  return (token) => timingSafeEqual(digest(token), expected)
}

export function createTokenAuth(isAdminToken: TokenCheck): TokenAuth {
  return (request) => {
    // Of two such headers Node keeps the first; a proxy before us may have judged by the other.
    const header = countHeader(request, 'authorization') === 1 ? request.headers.authorization : undefined
    // The scheme is matched without regard to case (`order.authentication`).
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? []
    if (!isAdminToken(token)) throw new ApiError('unauthorized')
  }
}

export function createAdminAuth(isAdminToken: TokenCheck, findSession: FindSession): AdminAuth {
  const byToken = createTokenAuth(isAdminToken)
  return async (request) => {
    const secret = request.headers.authorization === undefined ? readSessionSecret(request) : undefined
    if (secret === undefined) return void byToken(request)
    const session = await findSession(secret)
    if (!session) throw new ApiError('unauthorized')
    return session
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
