/** Signing in with a link: an invitation (`operator.invitation`), or a link for recovery (`operator.recovery`). */
import { about, answers } from '../../admin/answers.ts'
import { Name, writeTime } from '../../admin/fields.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import { countingWrong, createOpening, refuseOtherSites, signedIn, signInBytes } from './opening.ts'
import type { SignInOptions } from './opening.ts'
import { Email, LinkToken, Password, PendingInvitation } from './sign-in-answers.ts'

const closed = { additionalProperties: false } as const
const token = 'svc_invite_<secret>'
const password = 'a lamp in the attic'
const LookUp = Type.Object({ token: LinkToken }, { ...closed, examples: [{ token }] })
const Acceptance = Type.Object(
  {
    token: LinkToken,
    name: Type.Optional(Name),
    password: Type.Optional(Password),
  },
  { ...closed, examples: [{ token, password }] },
)
const Recovery = Type.Object(
  { token: LinkToken, email: Email, name: Type.Optional(Name), password: Password },
  { ...closed, examples: [{ token: 'svc_recover_<secret>', email: 'ada@acme.example', password }] },
)

export const linkRoutes: TypedRoutes<SignInOptions> = async (app, options) => {
  const { admin, guesses } = options
  const { openFor, callsOf } = createOpening(options)

  app.post(
    '/session/invitation/look-up',
    {
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'lookUpInvitation',
          'Get an invitation',
          'Whom the link is for. Returns 401 `unauthorized` if it does not exist, was used or has expired.',
        ),
        body: LookUp,
        security: [],
        response: answers(PendingInvitation),
      },
    },
    async (request) => {
      const { operator, expiresAt } = await countingWrong(request, guesses, () => admin.findInvitation(request.body.token))
      return { name: operator.name, email: operator.email, expires_at: writeTime(expiresAt) }
    },
  )

  app.post(
    '/session/invitation',
    {
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'acceptInvitation',
          'Accept an invitation',
          'Signs in and sets the password, if there is one, which replaces the old password and a company account. An invitation is accepted once. Without a password, add a passkey afterward.',
        ),
        body: Acceptance,
        security: [],
        response: signedIn(),
      },
    },
    async (request, reply) => {
      const { token: given, name, password: next } = request.body
      const { operator } = await countingWrong(request, guesses, () => admin.findInvitation(given))
      const accepted = await callsOf(request, operator).acceptInvitation({ token: given, name, password: next })
      return reply.code(201).send(await openFor(request, reply, accepted, 'link'))
    },
  )

  app.post(
    '/session/recovery',
    {
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'recover',
          'Become an admin with a recovery link',
          'For the link of `npx --no-install turnkeep operator recover`, which is accepted once within 15 minutes. The operator with the email address, or a new one, becomes an active admin without restrictions, with this password alone: its passkeys, company account and sessions are removed.',
        ),
        body: Recovery,
        security: [],
        response: signedIn(),
      },
    },
    async (request, reply) => {
      const { token: given, email, name, password: next } = request.body
      const link = await countingWrong(request, guesses, () => admin.findRecovery({ token: given, email }))
      const operator = await callsOf(request, { id: link.operatorId, name: name ?? link.email }).recover(link, { name, password: next })
      return reply.code(201).send(await openFor(request, reply, operator, 'link'))
    },
  )
}
