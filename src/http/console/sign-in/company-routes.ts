/**
 * Signing in with the company account (`operator.oidc`): two redirects of the browser. Every address that it is sent to is the provider's, or a
 * fixed page of the console; none comes from the request.
 */
import type { FastifyReply } from 'fastify'
import { about, guessFailure } from '../../admin/answers.ts'
import { describeEmpty, describeFailures, describeHeaders } from '../../public/answers.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import { createExchangeLimit } from './exchange-limit.ts'
import { createOpening } from './opening.ts'
import type { SignInOptions } from './opening.ts'

const redirects = {
  302: describeEmpty('The next page for the browser.', {
    ...describeHeaders(),
    Location: Type.String({ description: 'An address of the identity provider or of the console.' }),
    'Set-Cookie': Type.String({ description: '`turnkeep_oidc`, for the way back from the provider; after it, `turnkeep_session`.' }),
  }),
  ...guessFailure,
  ...describeFailures('bad_request', 'service_unavailable', 'internal_error'),
}

const cookieSeconds = 10 * 60

export const companySignInRoutes: TypedRoutes<SignInOptions> = async (app, options) => {
  const { admin } = options
  const mayExchange = createExchangeLimit(() => performance.now())
  const { openFor, callsOf, sessionOf, browserOf, oidcCookieOf, setOidcCookie } = createOpening(options)
  const sendTo = (reply: FastifyReply, url: string): FastifyReply =>
    reply.code(302).headers({ location: url, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).send()
  const sendBack = (reply: FastifyReply, error: string): FastifyReply => sendTo(reply, `/console/sign-in?error=${error}`)

  app.get(
    '/session/oidc',
    {
      schema: {
        ...about(
          'Session',
          'startCompanySignIn',
          'Start a sign-in with the company account',
          'For a browser: redirects to the identity provider, or to `/console/sign-in?error=oidc_unavailable`.',
        ),
        security: [],
        response: redirects,
      },
    },
    async (request, reply) => {
      const started = await admin.beginCompanySignIn({ replaces: await sessionOf(request.raw), browser: browserOf(request.raw) })
      setOidcCookie(request, reply, started?.cookie ?? '', started ? cookieSeconds : 0)
      return started ? sendTo(reply, started.url) : sendBack(reply, 'oidc_unavailable')
    },
  )

  app.get(
    '/session/oidc/callback',
    {
      schema: {
        ...about(
          'Session',
          'finishCompanySignIn',
          'Finish a sign-in with the company account',
          'The redirect URI for the identity provider. Redirects to `/console` with the cookie `turnkeep_session`, or to `/console/sign-in?error=…`.',
        ),
        security: [],
        response: redirects,
      },
    },
    async (request, reply) => {
      const { search } = new URL(request.raw.url ?? '', 'http://localhost')
      const verified = await admin.verifyCompanyAccount(search, oidcCookieOf(request.raw), mayExchange(request))
      setOidcCookie(request, reply, '', 0)
      if (typeof verified === 'string') return sendBack(reply, verified)
      const { account, operatorId } = verified
      const operator = await callsOf(request, { id: operatorId, name: account.name }).signInWithCompany(account, operatorId)
      if (typeof operator === 'string') return sendBack(reply, operator)
      await openFor(request, reply, operator, 'oidc', account.replaces)
      return sendTo(reply, '/console')
    },
  )
}
