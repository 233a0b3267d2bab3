/** What an operator signs in with, and where: the password, the passkeys and the sessions of the own account. */
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { ApiError } from '../../../errors.ts'
import { about, answers, gone, made } from '../../admin/answers.ts'
import type { Session } from '../../admin/auth.ts'
import { EmptyBody, Name, idGiven, writeTime, writeTimeOrNull } from '../../admin/fields.ts'
import { defaultValues } from '../../edge/request-body.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import type { SignInOptions } from './opening.ts'
import type { PasswordLimit } from './password-limit.ts'
import { partyAt } from './passkey-routes.ts'
import { Credential, credentialExample, OwnSessionList, Passkey, PasskeyList, PasskeyOptions, Password } from './sign-in-answers.ts'

type OwnSession = Awaited<ReturnType<AdminCalls['listOwnSessions']>>[number]

export type AccountRoutesOptions = Pick<SignInOptions, 'consoleUrl'> & { limit: PasswordLimit }

const closed = { additionalProperties: false } as const
const PasswordChange = Type.Object(
  { current_password: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })), new_password: Password },
  { ...closed, examples: [{ current_password: 'a lamp in the attic', new_password: 'two lamps in the attic' }] },
)
const NewPasskey = Type.Object(
  { name: Name, response: Credential },
  { ...closed, examples: [{ name: 'Work laptop', response: credentialExample }] },
)
const PasskeyParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 1400, description: 'Id of the passkey.', examples: [credentialExample.id] }),
})
const SessionParams = Type.Object({ id: idGiven('ses', 'Id of the session.') })

export const accountRoutes: TypedRoutes<AccountRoutesOptions> = async (app, { consoleUrl, limit }) => {
  app.put(
    '/me/password',
    {
      schema: {
        ...about(
          'Session',
          'changePassword',
          'Set your password',
          'Ends your other sessions. Without `current_password`, needs a sign-in of the last 15 minutes, otherwise 403 `forbidden`. Returns 409 `conflict` if you have a company account.',
        ),
        body: PasswordChange,
        response: gone('not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      const { current_password: current, new_password: next } = request.body
      await request.admin.changePassword({ current, next, session: own(request) }, limit(request))
      return reply.code(204).send()
    },
  )

  app.get(
    '/me/passkeys',
    {
      schema: {
        ...about('Session', 'listPasskeys', 'List your passkeys', 'At most 20.'),
        response: answers(PasskeyList, 'not_found'),
      },
    },
    async ({ admin }) => ({ data: (await admin.listPasskeys()).map(writePasskey) }),
  )

  app.post(
    '/me/passkeys/options',
    {
      schema: {
        ...about(
          'Session',
          'startNewPasskey',
          'Start adding a passkey',
          'Returns the options for `navigator.credentials.create`. Needs a sign-in of the last 15 minutes, otherwise 403 `forbidden`. Returns 409 `conflict` if you have a company account.',
        ),
        body: EmptyBody,
        response: made(PasskeyOptions, 'not_found', 'conflict'),
      },
    },
    async (request, reply) => reply.code(201).send(await request.admin.newPasskeyOptions(partyAt(consoleUrl(request.raw)), own(request))),
  )

  app.post(
    '/me/passkeys',
    {
      config: { maxJsonValues: defaultValues },
      schema: {
        ...about(
          'Session',
          'addPasskey',
          'Add a passkey',
          'With what the browser returned for the options. Each challenge is accepted once.',
        ),
        body: NewPasskey,
        response: made(Passkey, 'not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      const party = partyAt(consoleUrl(request.raw))
      return reply.code(201).send(writePasskey(await request.admin.addPasskey(party, own(request), request.body)))
    },
  )

  app.delete(
    '/me/passkeys/:id',
    {
      schema: {
        ...about(
          'Session',
          'removePasskey',
          'Remove a passkey',
          'Ends your other sessions. Returns 409 `conflict` if you could not sign in again without it.',
        ),
        params: PasskeyParams,
        response: gone('not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      await request.admin.removePasskey(request.params.id, own(request))
      return reply.code(204).send()
    },
  )

  app.get(
    '/me/sessions',
    {
      schema: {
        ...about('Session', 'listOwnSessions', 'List your sessions', 'The browsers in which you are signed in.'),
        response: answers(OwnSessionList, 'not_found'),
      },
    },
    async ({ admin, session }) => ({ data: (await admin.listOwnSessions()).map((one) => writeSession(one, session)) }),
  )

  app.delete(
    '/me/sessions/:id',
    {
      schema: {
        ...about('Session', 'endOwnSession', 'End one of your sessions', 'On every process immediately.'),
        params: SessionParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.closeOwnSession(request.params.id)
      return reply.code(204).send()
    },
  )
}

/** Throws ApiError `not_found` for a token, which has no account. */
function own({ session }: FastifyRequest): Session {
  if (!session) throw new ApiError('not_found', 'A token has no account.')
  return session
}

const writePasskey = ({ id, name, createdAt, lastUsedAt }: Awaited<ReturnType<AdminCalls['addPasskey']>>): Static<typeof Passkey.ref> => ({
  id,
  name,
  created_at: writeTime(createdAt),
  last_used_at: writeTimeOrNull(lastUsedAt),
})

const writeSession = (
  { id, method, address, userAgent, createdAt, expiresAt }: OwnSession,
  current: Session | undefined,
): Static<typeof OwnSessionList.ref>['data'][number] => ({
  id,
  method,
  address,
  user_agent: userAgent,
  created_at: writeTime(createdAt),
  expires_at: writeTime(expiresAt),
  current: id === current?.id,
})
