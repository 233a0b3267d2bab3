/** Signing in with a passkey (`operator.passkey`). */
import { ApiError } from '../../../errors.ts'
import { relyingPartyOf } from '../../../operators/passkeys.ts'
import type { RelyingParty } from '../../../operators/passkeys.ts'
import { about, made } from '../../admin/answers.ts'
import { EmptyBody } from '../../admin/fields.ts'
import { defaultValues } from '../../edge/request-body.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import { countingWrong, createOpening, refuseOtherSites, signedIn, signInBytes } from './opening.ts'
import type { SignInOptions } from './opening.ts'
import { Credential, credentialExample, PasskeyOptions } from './sign-in-answers.ts'

const PasskeySignIn = Type.Object({ response: Credential }, { additionalProperties: false, examples: [{ response: credentialExample }] })

/** Throws ApiError `conflict` if browsers refuse passkeys at the address of the console. */
export function partyAt(consoleUrl: string): RelyingParty {
  const party = relyingPartyOf(consoleUrl)
  if (party) return party
  throw new ApiError('conflict', 'Browsers allow passkeys only at a host name with https, or at localhost. Open the console there.')
}

export const passkeySignInRoutes: TypedRoutes<SignInOptions> = async (app, options) => {
  const { admin, guesses, consoleUrl } = options
  const { openFor } = createOpening(options)

  app.post(
    '/session/passkey/options',
    {
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'startPasskeySignIn',
          'Start a sign-in with a passkey',
          'Returns the options for `navigator.credentials.get`. They name no account. Returns 409 `conflict` if browsers refuse passkeys at the address of the console.',
        ),
        body: EmptyBody,
        security: [],
        response: made(PasskeyOptions, 'conflict'),
      },
    },
    async (request, reply) => reply.code(201).send(await admin.passkeyOptions(partyAt(consoleUrl(request.raw)))),
  )

  app.post(
    '/session/passkey',
    {
      config: { maxJsonValues: defaultValues },
      bodyLimit: signInBytes,
      onRequest: refuseOtherSites,
      schema: {
        ...about(
          'Session',
          'signInWithPasskey',
          'Sign in with a passkey',
          'Sets the cookie `turnkeep_session`. Each challenge is accepted once.',
        ),
        body: PasskeySignIn,
        security: [],
        response: signedIn('conflict'),
      },
    },
    async (request, reply) => {
      const party = partyAt(consoleUrl(request.raw))
      const operator = await countingWrong(request, guesses, () => admin.checkPasskey(party, request.body.response))
      return reply.code(201).send(await openFor(request, reply, operator, 'passkey'))
    },
  )
}
