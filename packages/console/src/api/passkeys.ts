/** Passkeys of this browser: signing in with one, and adding one to the account. The library is loaded when it is first needed. */
import type { PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser'
import { ApiFailure, call } from './client.ts'
import type { Passkey, Session } from './types.ts'

/** Throws ApiFailure, also if the person cancels or the browser has no passkeys. */
export async function signInWithPasskey(): Promise<Session> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const optionsJSON = await call<PublicKeyCredentialRequestOptionsJSON>('/session/passkey/options', { method: 'POST', body: {} })
  const response = await startAuthentication({ optionsJSON }).catch(explain)
  return call<Session>('/session/passkey', { method: 'POST', body: { response } })
}

/** `name`: by which the person recognizes it. Throws ApiFailure. */
export async function addPasskey(name: string): Promise<Passkey> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const optionsJSON = await call<PublicKeyCredentialCreationOptionsJSON>('/me/passkeys/options', { method: 'POST', body: {} })
  const response = await startRegistration({ optionsJSON }).catch(explain)
  return call<Passkey>('/me/passkeys', { method: 'POST', body: { name, response } })
}

/** The browser does not tell a cancel from a missing passkey. */
function explain(error: unknown): never {
  const name = error instanceof Error ? error.name : ''
  const message =
    name === 'InvalidStateError'
      ? 'This device already has a passkey for your account.'
      : name === 'NotAllowedError' || name === 'AbortError'
        ? 'The browser did not use a passkey: it was cancelled, it took too long, or this device has none for this address.'
        : 'This browser cannot use passkeys here. They need a current browser, and a host name with https or localhost.'
  throw new ApiFailure({ status: 0, code: 'passkey', message })
}
