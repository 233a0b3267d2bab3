/**
 * Signs in to and out of the console: exchanges the admin token, or an email address and a password, for a session cookie. Signing in needs
 * neither a token nor a session, so wrong tokens (`session.guesses`) and wrong passwords (`operator.guesses`) are limited. Only the cookie
 * contains the session secret. The other ways to sign in are in sign-in/.
 */
import { ApiError } from '../../errors.ts'
import { relyingPartyOf } from '../../operators/passkeys.ts'
import { about, answers, gone } from '../admin/answers.ts'
import type { Session, TokenCheck } from '../admin/auth.ts'
import { Session as SessionAnswer } from '../admin/console-answers.ts'
import { describeEmpty, describeHeaders } from '../public/answers.ts'
import { sessionCookie } from './cookie.ts'
import { countingWrong, createOpening, refuseOtherSites, signedIn, signInBytes } from './sign-in/opening.ts'
import type { SignInOptions } from './sign-in/opening.ts'
import type { PasswordLimit } from './sign-in/password-limit.ts'
import { Email, SignInOptions as SignInOptionsAnswer } from './sign-in/sign-in-answers.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

export type SessionOptions = SignInOptions & {
  isAdminToken: TokenCheck
  /** Whether the admin token is accepted at all. */
  hasAdminToken: boolean
  limit: PasswordLimit
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the cookie; undefined if the request used a token. Only set in the admin API. */
    session: Session | undefined
  }
}

const closed = { additionalProperties: false } as const
const SignIn = Type.Union(
  [
    Type.Object({ token: Type.String({ minLength: 1, maxLength: signInBytes }) }, closed),
    Type.Object({ email: Email, password: Type.String({ minLength: 1, maxLength: 1000 }) }, closed),
  ],
  { examples: [{ email: 'ada@acme.example', password: 'a lamp in the attic' }] },
)

const signedOut = {
  ...gone('not_found'),
  204: describeEmpty('No content.', {
    ...describeHeaders(),
    'Set-Cookie': Type.String({ description: '`turnkeep_session` without a value.' }),
  }),
}

export const sessionRoutes: TypedRoutes<SessionOptions> = async (app, options) => {
  const { admin, guesses, consoleUrl, isAdminToken, hasAdminToken, limit } = options
  const { write, isSecure, openFor, openForToken, browserOf } = createOpening(options)

  app.get(
    '/session/options',
    {
      schema: {
        ...about('Session', 'showSignInOptions', 'Get the ways to sign in', 'For the sign-in page of the console.'),
        security: [],
        response: answers(SignInOptionsAnswer),
      },
    },
    async ({ raw }) => {
      const company = admin.companyName()
      return {
        password: true,
        passkey: relyingPartyOf(consoleUrl(raw)) !== undefined,
        oidc: company === undefined ? null : { name: company },
        admin_token: hasAdminToken,
      }
    },
  )

  app.post(
    '/session',
    {
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'signIn',
          'Sign in to the console',
          'With the admin token, or with an email address and a password. Sets the cookie `turnkeep_session`. The cookie is accepted only together with the header `X-Turnkeep-Console: 1`.',
        ),
        body: SignIn,
        security: [],
        response: signedIn(),
      },
    },
    async (request, reply) => {
      const { body } = request
      if ('token' in body) {
        await countingWrong(request, guesses, async () => {
          if (!isAdminToken(body.token)) throw new ApiError('unauthorized')
        })
        return reply.code(201).send(await openForToken(request, reply))
      }
      const operator = await admin.checkPassword({ ...body, browser: browserOf(request.raw) }, limit(request))
      return reply.code(201).send(await openFor(request, reply, operator, 'password'))
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
      return reply
        .header('set-cookie', sessionCookie('', { maxAgeSeconds: 0, isSecure: isSecure(request.raw) }))
        .code(204)
        .send()
    },
  )
}

function known(session: Session | undefined): Session {
  if (!session) throw new ApiError('not_found', 'A token has no session.')
  return session
}
