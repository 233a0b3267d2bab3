/**
 * Signs in to and out of the console: exchanges the admin token for a session cookie. Signing in needs neither a
 * token nor a session, so wrong tokens are rate-limited (`session.guesses`). Only the cookie contains the session secret.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiError } from '../../errors.ts'
import { ownVersion } from '../../observability/metrics.ts'
import { about, answers, gone, made, tooManyGuesses } from '../admin/answers.ts'
import type { Session, TokenCheck } from '../admin/auth.ts'
import { Session as SessionAnswer } from '../admin/console-answers.ts'
import { writeTime } from '../admin/fields.ts'
import { describeHeaders } from '../public/answers.ts'
import { actorOf, adminTokenPrincipal } from '../../operators/principal.ts'
import type { Admin } from '../../admin/admin.ts'
import { cameByTls, readSessionSecret, writeCookie } from './cookie.ts'
import type { GuessLimit } from './guess-limit.ts'
import { Type } from '../edge/schema.ts'

export type SessionOptions = {
  admin: Admin
  isAdminToken: TokenCheck
  guesses: GuessLimit
  /** Browsers reach this server over TLS, even if no proxy header says so. */
  byTls: boolean
  /** Base URL of the public API; null if this server serves it. */
  apiUrl: () => string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the cookie; undefined if the request used the token. Only set in the admin API. */
    session: Session | undefined
  }
  interface FastifyContextConfig {}
}

// Anyone may send this body, so little of it is read: enough for any token that fits in a request header.
const signInBytes = 16_384
const SignIn = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: signInBytes }) },
  { additionalProperties: false, examples: [{ token: 'the-admin-token' }] },
)

const cookie = {
  ...describeHeaders(),
  'Set-Cookie': Type.String({ description: '`turnkeep_session`, HttpOnly and SameSite=Strict. Empty when signing out.' }),
}
const signedIn = made(SessionAnswer, 'validation_error', 'payload_too_large')
const signedOut: ReturnType<typeof gone> = {
  ...gone('not_found'),
  204: Type.Null({ description: 'No content.', headers: cookie }),
}

export const sessionRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  const version = ownVersion()
  const { admin } = options
  const write = ({ expiresAt }: Session): object => ({ expires_at: writeTime(expiresAt), version, api_url: options.apiUrl() })

  /** The ID of the session that this browser has. */
  async function sessionOf(request: IncomingMessage): Promise<string | null> {
    const secret = readSessionSecret(request)
    return (secret === undefined ? undefined : await admin.findSession(secret))?.session.id ?? null
  }

  app.post(
    '/session',
    {
      bodyLimit: signInBytes,
      schema: {
        ...about(
          'Session',
          'signIn',
          'Sign in to the console',
          'Sets the cookie `turnkeep_session`. The cookie is accepted only together with the header `X-Turnkeep-Console: 1`.',
        ),
        body: SignIn,
        security: [],
        response: { ...signedIn, 201: { ...signedIn[201], headers: cookie } },
      },
    },
    async (request, reply) => {
      const address = request.raw.socket.remoteAddress ?? ''
      // First, so that wrong tokens of others behind the same address never refuse the right one.
      if (!options.isAdminToken(request.body.token)) {
        const wait = options.guesses.waitSeconds(address)
        if (wait !== undefined) throw new ApiError('rate_limit_exceeded', tooManyGuesses, { retryAfterSeconds: wait })
        options.guesses.wrong(address)
        throw new ApiError('unauthorized')
      }
      options.guesses.right(address)
      const { secret, session, lifetimeSeconds } = await admin.calledBy(actorOf(adminTokenPrincipal, request.id), null).openSession({
        method: 'admin_token',
        address,
        userAgent: request.headers['user-agent'] ?? null,
        replaces: await sessionOf(request.raw),
      })
      const isSecure = options.byTls || cameByTls(request.raw)
      reply.header('set-cookie', writeCookie(secret, { maxAgeSeconds: lifetimeSeconds, isSecure }))
      return reply.code(201).send(write(session))
    },
  )

  app.get(
    '/session',
    {
      schema: {
        ...about(
          'Session',
          'showSession',
          'Get the current session',
          'Returns 404 `not_found` if the request uses a token, which has no session.',
        ),
        response: answers(SessionAnswer, 'not_found'),
      },
    },
    async (request) => write(known(request.session)),
  )

  app.delete(
    '/session',
    {
      schema: {
        ...about('Session', 'signOut', 'Sign out of the console', 'Ends the session on every process immediately and clears the cookie.'),
        response: signedOut,
      },
    },
    async (request, reply) => {
      await request.admin.closeSession(known(request.session).id)
      const isSecure = options.byTls || cameByTls(request.raw)
      return reply
        .header('set-cookie', writeCookie('', { maxAgeSeconds: 0, isSecure }))
        .code(204)
        .send()
    },
  )
}

function known(session: Session | undefined): Session {
  if (!session) throw new ApiError('not_found', 'A token has no session.')
  return session
}
