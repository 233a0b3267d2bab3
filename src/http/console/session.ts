/**
 * Signing in and out at the console, on the wire: the admin token once, and then a cookie. The only route of the admin API that is heard without
 * either; who guesses there is slowed down. The secret is in the cookie alone and in no body.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiError } from '../../errors.ts'
import { ownVersion } from '../../observability/metrics.ts'
import { about, answers, gone, made } from '../admin/answers.ts'
import type { Session, TokenCheck } from '../admin/auth.ts'
import { Session as SessionAnswer } from '../admin/console-answers.ts'
import { writeTime } from '../admin/fields.ts'
import { describeHeaders, describeFailures } from '../public/answers.ts'
import { cameByTls, writeCookie } from './cookie.ts'
import type { GuessLimit } from './guess-limit.ts'
import { Type } from '../edge/schema.ts'

export type SessionOptions = {
  isAdminToken: TokenCheck
  guesses: GuessLimit
  /** Callers' browsers reach this door over TLS, whatever a proxy says. */
  byTls: boolean
  /** Base address of the public API; null: this door's own. */
  apiUrl: () => string | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose cookie it was; undefined where it was the token. Within the admin API alone. */
    session: Session | undefined
  }
  interface FastifyContextConfig {
    /** Heard without token and session: it is how one comes by one. */
    opensSession?: true
  }
}

// Longer than any token that a header of the admin API could hold.
const SignIn = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 16_384 }) },
  { additionalProperties: false, examples: [{ token: 'the-admin-token' }] },
)

const tooMany = 'Too many wrong admin tokens came from this address. Try again later.'
const slowedDown = {
  ...describeFailures('rate_limit_exceeded')[429]!,
  description: `\`rate_limit_exceeded\`: ${tooMany}`,
  headers: { ...describeHeaders(), 'Retry-After': Type.Integer({ description: 'Seconds until this address is heard again.' }) },
}

const cookie = {
  ...describeHeaders(),
  'Set-Cookie': Type.String({ description: '`turnkeep_session`, HttpOnly and SameSite=Strict; empty at the end.' }),
}
const signedIn = made(SessionAnswer, 'validation_error', 'payload_too_large')
const signedOut: ReturnType<typeof gone> = {
  ...gone('not_found'),
  204: Type.Null({ description: 'Done; there is nothing to say.', headers: cookie }),
}

export const sessionRoutes: FastifyPluginAsyncTypebox<SessionOptions> = async (app, options) => {
  const version = ownVersion()
  const write = ({ expiresAt }: Session): object => ({ expires_at: writeTime(expiresAt), version, api_url: options.apiUrl() })

  app.post(
    '/session',
    {
      config: { opensSession: true },
      schema: {
        ...about(
          'Session',
          'signIn',
          'Sign in at the console',
          'Sets the cookie `turnkeep_session`, which is believed only beside the header `X-Turnkeep-Console: 1`.',
        ),
        body: SignIn,
        security: [],
        response: { ...signedIn, 201: { ...signedIn[201], headers: cookie }, 429: slowedDown },
      },
    },
    async (request, reply) => {
      const address = request.raw.socket.remoteAddress ?? ''
      const wait = options.guesses.waitSeconds(address)
      if (wait !== undefined) throw new ApiError('rate_limit_exceeded', tooMany, { retryAfterSeconds: wait })
      if (!options.isAdminToken(request.body.token)) {
        options.guesses.wrong(address)
        throw new ApiError('unauthorized')
      }
      options.guesses.right(address)
      const { secret, session, lifetimeSeconds } = await request.admin.openSession()
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
          'Who is signed in, by the cookie',
          'With the admin token itself, which has no session: 404 `not_found`.',
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
        ...about('Session', 'signOut', 'Sign out, on every process at once', 'Takes the cookie back.'),
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
  if (!session) throw new ApiError('not_found', 'The admin token itself has no session.')
  return session
}
