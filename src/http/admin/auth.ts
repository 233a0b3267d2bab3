/**
 * Authenticates the operator by the admin token or by the session cookie of the console. Tokens are compared by digest in constant time, so
 * timing reveals neither the length nor a prefix. A session takes one lookup in the store, and is ignored if the request also sends a token:
 * a wrong token is always rejected (`session.origin`).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AdminCalls } from '../../admin/admin.ts'
import { ApiError } from '../../errors.ts'
import { readSessionSecret } from '../console/cookie.ts'
import { countHeader } from '../edge/headers.ts'

type FindSession = AdminCalls['findSession']
export type Session = NonNullable<Awaited<ReturnType<FindSession>>>

/** Takes the same time for every wrong token. */
export type TokenCheck = (token: string) => boolean
/** Checks only the Authorization header. Throws ApiError `unauthorized`. */
export type TokenAuth = (request: IncomingMessage) => void
/**
 * Returns the session if the request has a session cookie, or undefined if it has the token. Throws ApiError `unauthorized`, with the same
 * message for every reason, and `service_unavailable` if the store cannot be reached.
 */
export type AdminAuth = (request: IncomingMessage) => Promise<Session | undefined>

export function createTokenCheck(adminToken: string): TokenCheck {
  const expected = digest(adminToken)
  return (token) => timingSafeEqual(digest(token), expected)
}

export function createTokenAuth(isAdminToken: TokenCheck): TokenAuth {
  return (request) => {
    // Of two such headers Node keeps the first, while a proxy in front may have checked the second.
    const header = countHeader(request, 'authorization') === 1 ? request.headers.authorization : undefined
    // The scheme is case-insensitive (`order.authentication`).
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
