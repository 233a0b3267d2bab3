/**
 * What every sign-in shares: it is refused for a page of another site, which would sign a person in to a foreign account, and it ends with a new
 * session that replaces the one of the browser. Only cookies contain the secrets.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Admin } from '../../../admin/admin.ts'
import { ApiError } from '../../../errors.ts'
import type { FailureCode } from '../../../errors.ts'
import { ownVersion } from '../../../observability/metrics.ts'
import { made } from '../../admin/answers.ts'
import type { Session } from '../../admin/auth.ts'
import { Session as SessionAnswer } from '../../admin/console-answers.ts'
import { writeTime } from '../../admin/fields.ts'
import { describeHeaders } from '../../public/answers.ts'
import { cameByTls, isFromOtherSite, readCookie, sessionCookie, writeCookie } from '../cookie.ts'
import type { GuessLimit } from '../guess-limit.ts'
import type { Actor } from '../../../store/queries/audit.ts'
import { Type } from '../../edge/schema.ts'

export type SignInOptions = {
  admin: Admin
  /** Of tokens and links, which are random. Passwords have limits of their own. */
  guesses: GuessLimit
  /** Browsers reach this server over TLS, even if no proxy header says so. */
  byTls: boolean
  /** Base URL of the public API; null if this server serves it. */
  apiUrl: () => string | null
  /** Base URL of the console, as the browser of this request sees it. */
  consoleUrl: (request: IncomingMessage) => string
}

type Operator = { id: string; name: string; updatedAt: number }
type Method = 'password' | 'passkey' | 'oidc' | 'link'

const browserCookie = 'turnkeep_browser'
const browserPath = '/admin/v1/session'
// Browsers keep no cookie longer.
const browserSeconds = 400 * 24 * 60 * 60
const oidcCookie = 'turnkeep_oidc'
const oidcPath = '/admin/v1/session/oidc'

// Anyone may send these bodies, so little of them is read: enough for any token that fits in a request header, and for a passkey.
export const signInBytes = 16_384

/** Describes a 201 response with the session and its cookie, and the errors of the route. */
export function signedIn(...codes: FailureCode[]) {
  const response = made(SessionAnswer, ...codes)
  const cookies = { 'Set-Cookie': Type.String({ description: '`turnkeep_session`, HttpOnly and SameSite=Strict.' }) }
  return { ...response, 201: { ...response[201], headers: { ...describeHeaders(), ...cookies } } }
}

/** `session.origin`: throws ApiError `forbidden` for a request that the browser says comes from a page of another site. */
export async function refuseOtherSites({ raw }: FastifyRequest): Promise<void> {
  if (isFromOtherSite(raw)) throw new ApiError('forbidden', 'A page of another site must not sign you in.')
}

export function createOpening({ admin, byTls, apiUrl }: SignInOptions) {
  const version = ownVersion()
  const isSecure = (request: IncomingMessage): boolean => byTls || cameByTls(request)
  const write = ({ expiresAt }: Session): Static<typeof SessionAnswer.ref> => ({
    expires_at: writeTime(expiresAt),
    version,
    api_url: apiUrl(),
  })

  /** Opens a session for `signIn`, which replaces that of the browser, and sets its cookie. Throws ApiError `unauthorized`. */
  async function open(
    request: FastifyRequest,
    reply: FastifyReply,
    actor: Actor,
    signIn: { method: 'admin_token' } | { method: Method; operatorId: string; checkedAt: number },
    replaces: string | null,
  ): Promise<Session> {
    const { secret, session, lifetimeSeconds } = await admin.calledBy(actor, null).openSession({
      ...signIn,
      address: request.raw.socket.remoteAddress ?? null,
      userAgent: request.headers['user-agent'] ?? null,
      replaces,
    })
    reply.header('set-cookie', sessionCookie(secret, { maxAgeSeconds: lifetimeSeconds, isSecure: isSecure(request.raw) }))
    return session
  }

  async function sessionOf(request: IncomingMessage): Promise<string | null> {
    const secret = readCookie(request, 'turnkeep_session')
    return (secret === undefined ? undefined : await admin.findSession(secret))?.session.id ?? null
  }

  return {
    write,
    isSecure,
    /** The ID of the session that this browser has. Reads the cookie of any request, so use it only for what a sign-in ends. */
    sessionOf,

    async openForToken(request: FastifyRequest, reply: FastifyReply): Promise<Static<typeof SessionAnswer.ref>> {
      const replaces = await sessionOf(request.raw)
      return write(await open(request, reply, { who: 'admin_token', requestId: request.id }, { method: 'admin_token' }, replaces))
    },

    /** Also marks the browser as known to the operator (`operator.guesses`). `replaces`: default: the session that the browser has. */
    async openFor(
      request: FastifyRequest,
      reply: FastifyReply,
      operator: Operator,
      method: Method,
      replaces?: string | null,
    ): Promise<Static<typeof SessionAnswer.ref>> {
      const { id, updatedAt: checkedAt } = operator
      const ends = replaces === undefined ? await sessionOf(request.raw) : replaces
      const session = await open(request, reply, actorFor(request, operator), { method, operatorId: id, checkedAt }, ends)
      const options = { maxAgeSeconds: browserSeconds, isSecure: isSecure(request.raw), path: browserPath, sameSite: 'Strict' } as const
      reply.header('set-cookie', writeCookie(browserCookie, admin.knownBrowser(id), options))
      return write(session)
    },

    /** The calls of an operator who is signing in, for the audit log. */
    callsOf: (request: FastifyRequest, operator: Pick<Operator, 'id' | 'name'>) => admin.calledBy(actorFor(request, operator), null),

    browserOf: (request: IncomingMessage): string | undefined => readCookie(request, browserCookie),

    oidcCookieOf: (request: IncomingMessage): string | undefined => readCookie(request, oidcCookie),
    /** Lax: the provider sends the browser back with a link. Empty text removes it. */
    setOidcCookie(request: FastifyRequest, reply: FastifyReply, text: string, maxAgeSeconds: number): void {
      const options = { maxAgeSeconds, isSecure: isSecure(request.raw), path: oidcPath, sameSite: 'Lax' } as const
      reply.header('set-cookie', writeCookie(oidcCookie, text, options))
    },
  }
}

const actorFor = (request: FastifyRequest, { id, name }: Pick<Operator, 'id' | 'name'>): Actor => ({
  who: 'operator',
  id,
  name,
  requestId: request.id,
})

/** `session.guesses`: runs a check that throws ApiError `unauthorized` for a wrong token or link, and counts those of the address. */
export async function countingWrong<Result>(request: FastifyRequest, guesses: GuessLimit, check: () => Promise<Result>): Promise<Result> {
  const address = request.raw.socket.remoteAddress ?? ''
  try {
    const result = await check()
    guesses.right(address)
    return result
  } catch (error) {
    // First the check, so that wrong ones of others behind the same address never refuse the right one.
    if (!(error instanceof ApiError) || error.code !== 'unauthorized') throw error
    const wait = guesses.waitSeconds(address)
    if (wait !== undefined) throw new ApiError('rate_limit_exceeded', tooManyWrong, { retryAfterSeconds: wait })
    guesses.wrong(address)
    throw error
  }
}

const tooManyWrong = 'This address has sent too many wrong tokens or links. Try again later.'
