/** The schemas of signing in, and of what an operator signs in with. */
import { Time, TimeOrNull, idOf } from '../../admin/answer-fields.ts'
import { define } from '../../public/schemas.ts'
import { wellFormed } from '../../admin/fields.ts'
import { Type } from '../../edge/schema.ts'

/** Longer than every accepted one, so that the reason for a refusal is in the message. */
export const Password = Type.String({ minLength: 1, maxLength: 1000, description: '12 to 256 characters, not a common password.' })
export const Email = wellFormed({ minLength: 1, maxLength: 254 })
export const LinkToken = Type.String({ minLength: 1, maxLength: 1000, description: 'What follows the `#` of the link.' })

// Browsers define these objects (WebAuthn, PublicKeyCredential.toJSON), and add fields to them. Their content is verified, so it is not described.
const credential = {
  id: Type.String({ minLength: 1, maxLength: 1400 }),
  rawId: Type.String({ minLength: 1, maxLength: 1400 }),
  type: Type.Literal('public-key'),
  response: Type.Record(Type.String(), Type.Unknown(), { description: 'As the browser returns it.' }),
}
export const Credential = Type.Object(credential, {
  additionalProperties: true,
  description: 'What `navigator.credentials` returned, as JSON.',
})
export const credentialExample = {
  id: 'pZtQyWXkRk2vXlJ8vUzq5A',
  rawId: 'pZtQyWXkRk2vXlJ8vUzq5A',
  type: 'public-key' as const,
  response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0Iiwi…' },
  clientExtensionResults: {},
}

export const SignInOptions = define(
  'SignInOptions',
  Type.Object({
    password: Type.Boolean(),
    passkey: Type.Boolean({ description: 'Whether browsers allow passkeys at this address: a host name with https, or localhost.' }),
    oidc: Type.Union([Type.Object({ name: Type.String({ description: 'For the button "Sign in with …".' }) }), Type.Null()], {
      description: 'The identity provider of the company. Null: none.',
    }),
    admin_token: Type.Boolean({ description: 'Whether the admin token is accepted.' }),
  }),
)

export const PasskeyOptions = define(
  'PasskeyOptions',
  Type.Object(
    { challenge: Type.String({ description: 'Valid for 5 minutes and used once.' }) },
    { description: 'The options for `navigator.credentials`, as JSON (WebAuthn).', additionalProperties: true },
  ),
)

export const PendingInvitation = define('PendingInvitation', Type.Object({ name: Type.String(), email: Type.String(), expires_at: Time }))

export const Passkey = define(
  'Passkey',
  Type.Object({
    id: Type.String({ description: 'The ID of the credential, in base64url.' }),
    name: Type.String(),
    created_at: Time,
    last_used_at: TimeOrNull,
  }),
)
export const PasskeyList = define('PasskeyList', Type.Object({ data: Type.Array(Passkey.ref, { description: 'Oldest first.' }) }))

const OwnSession = define(
  'OwnSession',
  Type.Object({
    id: idOf('ses'),
    method: Type.Enum(['password', 'passkey', 'oidc', 'link']),
    address: Type.Union([Type.String(), Type.Null()], { description: 'Network address of the sign-in.' }),
    user_agent: Type.Union([Type.String(), Type.Null()], { description: 'The browser of the sign-in, as it names itself.' }),
    created_at: Time,
    expires_at: Time,
    current: Type.Boolean({ description: 'The session of this request.' }),
  }),
)
export const OwnSessionList = define('OwnSessionList', Type.Object({ data: Type.Array(OwnSession.ref, { description: 'Newest first.' }) }))

export const signInSchemas = [SignInOptions, PasskeyOptions, PendingInvitation, Passkey, PasskeyList, OwnSession, OwnSessionList]

const time = '2026-11-26T09:00:00.000Z'
const passkey = { id: credentialExample.id, name: 'Work laptop', created_at: time, last_used_at: time }
const session = {
  id: 'ses_01jd3v9qk8x2m5n7p4r6t8w0ya',
  method: 'passkey',
  address: '192.0.2.10',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  created_at: time,
  expires_at: '2026-11-26T21:00:00.000Z',
  current: true,
}
export const signInExamples: Record<string, object> = {
  SignInOptions: { password: true, passkey: true, oidc: { name: 'Acme' }, admin_token: true },
  PasskeyOptions: { rpId: 'turnkeep.acme.example', challenge: 'mPp0…', timeout: 300_000, userVerification: 'required' },
  PendingInvitation: { name: 'Ada', email: 'ada@acme.example', expires_at: '2026-12-03T09:00:00.000Z' },
  Passkey: passkey,
  PasskeyList: { data: [passkey] },
  OwnSession: session,
  OwnSessionList: { data: [session] },
}
