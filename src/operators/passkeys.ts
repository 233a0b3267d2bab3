/**
 * The WebAuthn exchange of passkeys (`operator.passkey`). Challenges are signed and not stored (signed-tokens.ts). A passkey is discoverable and
 * requires user verification, so it is a sign-in by itself. The packages are loaded by the first exchange.
 */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { SignedToken, SignedTokens } from './signed-tokens.ts'

/** The site that passkeys are for: `id` is the host name of `origin`, which they never leave. */
export type RelyingParty = { id: string; origin: string }
export type NewPasskeyFor = { id: string; email: string; name: string; passkeys: { id: string; transports: string[] }[] }

export type RegisteredPasskey = { id: string; publicKey: Uint8Array; counter: number; transports: string[]; challenge: SignedToken }
export type AcceptedPasskey = { counter: number; challenge: SignedToken }

/** The message says why, for the log. It contains nothing that a browser keeps secret. */
export class PasskeyRefused extends Error {}

export type Passkeys = {
  /** Options for `navigator.credentials.create`. `expiresAt` ends the challenge, in epoch milliseconds. */
  newPasskey(
    party: RelyingParty,
    operator: NewPasskeyFor,
    sessionId: string,
    expiresAt: number,
  ): Promise<PublicKeyCredentialCreationOptionsJSON>
  /** Checks what the browser returned for these options. Throws PasskeyRefused. */
  register(party: RelyingParty, response: object, operatorId: string, sessionId: string): Promise<RegisteredPasskey>
  /** Options for `navigator.credentials.get`, which name no account. */
  signIn(party: RelyingParty, expiresAt: number): Promise<PublicKeyCredentialRequestOptionsJSON>
  /** Checks what the browser returned, with the passkey of that ID. Throws PasskeyRefused. */
  accept(
    party: RelyingParty,
    response: object,
    passkey: { id: string; publicKey: Uint8Array; counter: number; operatorId: string },
  ): Promise<AcceptedPasskey>
}

/** How long a person may take, in milliseconds. */
export const challengeMs = 5 * 60 * 1000

// EdDSA, ES256 and RS256: the default of the package, which would otherwise try what Node calls experimental and warn about it.
const algorithms = [-8, -7, -257]

/** Returns undefined for an origin that browsers refuse to use passkeys with: an IP address, or without TLS except on this machine. */
export function relyingPartyOf(url: string): RelyingParty | undefined {
  const parsed = URL.parse(url)
  if (!parsed) return undefined
  const { hostname, origin, protocol } = parsed
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[|\]$/g, '')) > 0 || !(protocol === 'https:' || isLocal)) return undefined
  return { id: hostname, origin }
}

export function createPasskeys(tokens: SignedTokens): Passkeys {
  return {
    async newPasskey(party, { id, email, name, passkeys }, sessionId, expiresAt) {
      const { generateRegistrationOptions } = await import('@simplewebauthn/server')
      return generateRegistrationOptions({
        rpName: 'Turnkeep',
        rpID: party.id,
        userID: new TextEncoder().encode(id),
        userName: email,
        userDisplayName: name,
        challenge: bytesOf(tokens.sign('new_passkey', expiresAt, { operatorId: id, sessionId })),
        timeout: challengeMs,
        attestationType: 'none',
        excludeCredentials: passkeys,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        supportedAlgorithmIDs: algorithms,
      })
    },

    async register(party, response, operatorId, sessionId) {
      const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
      let challenge: SignedToken | undefined
      const { verified, registrationInfo } = await refusing(() =>
        verifyRegistrationResponse({
          response: response as RegistrationResponseJSON,
          expectedChallenge(text) {
            challenge = tokens.read('new_passkey', text)
            return challenge?.content['operatorId'] === operatorId && challenge.content['sessionId'] === sessionId
          },
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          requireUserVerification: true,
          supportedAlgorithmIDs: algorithms,
        }),
      )
      if (!verified || !registrationInfo || !challenge) throw new PasskeyRefused('the attestation is not valid')
      const { id, publicKey, counter, transports } = registrationInfo.credential
      return { id, publicKey, counter, transports: knownTransports(transports), challenge }
    },

    async signIn(party, expiresAt) {
      const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
      return generateAuthenticationOptions({
        rpID: party.id,
        challenge: bytesOf(tokens.sign('passkey', expiresAt)),
        timeout: challengeMs,
        userVerification: 'required',
      })
    },

    async accept(party, response, { operatorId, ...passkey }) {
      const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
      const given = response as AuthenticationResponseJSON
      let challenge: SignedToken | undefined
      const { verified, authenticationInfo } = await refusing(() =>
        verifyAuthenticationResponse({
          response: given,
          expectedChallenge(text) {
            challenge = tokens.read('passkey', text)
            return challenge !== undefined
          },
          expectedOrigin: party.origin,
          expectedRPID: party.id,
          credential: { ...passkey, publicKey: Uint8Array.from(passkey.publicKey) },
          requireUserVerification: true,
        }),
      )
      if (!verified || !challenge) throw new PasskeyRefused('the signature is not valid')
      // The account that the passkey was made for; a discoverable one always returns it.
      if (given.response.userHandle !== Buffer.from(operatorId).toString('base64url'))
        throw new PasskeyRefused('the passkey is for another account')
      return { counter: authenticationInfo.newCounter, challenge }
    },
  }
}

/** How a browser may reach an authenticator (WebAuthn, AuthenticatorTransport). No signature covers them, and they are stored. */
const allTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']
const knownTransports = (given: unknown): string[] => (Array.isArray(given) ? allTransports.filter((one) => given.includes(one)) : [])

// A token is base64url, which is also how browsers return the bytes of a challenge.
const bytesOf = (token: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(token, 'base64url'))

/** The package throws an Error for everything that is wrong with a response, malformed ones included. */
async function refusing<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify()
  } catch (error) {
    throw new PasskeyRefused(error instanceof Error ? error.message : 'the response is malformed')
  }
}
