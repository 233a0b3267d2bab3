/** How operators sign in: with a password, a passkey, a link or the company account. Each ends with `openSession` (sessions.ts). */
import type { Ids } from '../../ids.ts'
import type { Logger } from 'pino'
import { createOidc } from '../../operators/oidc.ts'
import type { Oidc, OidcSettings } from '../../operators/oidc.ts'
import { createPasskeys } from '../../operators/passkeys.ts'
import type { Passkeys } from '../../operators/passkeys.ts'
import { createPasswords } from '../../operators/passwords.ts'
import type { PasswordCost, Passwords } from '../../operators/passwords.ts'
import { createSignedTokens } from '../../operators/signed-tokens.ts'
import type { SignedTokens } from '../../operators/signed-tokens.ts'
import type { PerRequest } from '../admin-store.ts'
import { createCompanySignIn } from './company-sign-in.ts'
import type { CompanySignIn } from './company-sign-in.ts'
import { createLinkSignIn } from './links.ts'
import type { LinkSignIn } from './links.ts'
import { createPasskeySignIn } from './passkey-sign-in.ts'
import type { PasskeySignIn } from './passkey-sign-in.ts'
import { createPasswordSignIn } from './password-sign-in.ts'
import type { PasswordSignIn } from './password-sign-in.ts'

export type SignInAdmin = PasswordSignIn & LinkSignIn & PasskeySignIn & CompanySignIn

/** What all requests share. `oidc` is undefined without an identity provider. */
export type SignInMethods = { passwords: Passwords; passkeys: Passkeys; oidc: Oidc | undefined; tokens: SignedTokens }

export type SignInMethodsOptions = {
  encryptionKeys: Uint8Array[]
  /** Undefined without an identity provider. */
  oidc: OidcSettings | undefined
  log: Logger
  monotonicMs: () => number
  /** For tests. Default: that of production. */
  passwordCost?: PasswordCost | undefined
}

export function createSignInMethods({ encryptionKeys, oidc, log, monotonicMs, passwordCost }: SignInMethodsOptions): SignInMethods {
  const tokens = createSignedTokens(encryptionKeys)
  return {
    passwords: createPasswords(passwordCost),
    passkeys: createPasskeys(tokens),
    oidc: oidc && createOidc({ settings: oidc, tokens, log, monotonicMs }),
    tokens,
  }
}

type Options = { newId: Ids['newId']; signIn: SignInMethods }

export function createSignInAdmin({ signIn, ...options }: Options): PerRequest<SignInAdmin> {
  const modules = { ...options, ...signIn }
  return {
    ...createPasswordSignIn(modules),
    ...createLinkSignIn(modules),
    ...createPasskeySignIn(modules),
    ...createCompanySignIn(modules),
  }
}
