/** Signing in with the company account (`operator.oidc`): the operator that belongs to an account of the identity provider. */
import type { Ids } from '../../ids.ts'
import { stateMs } from '../../operators/oidc.ts'
import type { CompanyAccount, Oidc, OidcRefused, OidcResponse } from '../../operators/oidc.ts'
import type { SignedTokens } from '../../operators/signed-tokens.ts'
import type { CompanySignInOutcome } from '../../store/queries/operator-sign-in.ts'
import type { Operator } from '../../store/queries/operators.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'

/** `oidc_unknown`: no operator has this email address. `oidc_other_account`: the one that has it belongs to another account. */
export type CompanyRefused = OidcRefused | 'oidc_busy' | 'oidc_unknown' | 'oidc_other_account' | 'oidc_disabled' | 'oidc_role'

/**
 * Called before the provider is asked about the response of a browser. `knownBrowser` identifies one in which an operator has signed in before.
 * Returns undefined if it has to wait, and otherwise what to call at the end.
 */
export type MayExchange = (knownBrowser: string | undefined) => { end(isVerified: boolean): void } | undefined

export type CompanySignIn = {
  /** Undefined without an identity provider. */
  companyName(): string | undefined
  /**
   * Where to send the browser, and its cookie. Undefined if the provider cannot be reached. `replaces`: the browser's session. `browser`: its
   * text of `knownBrowser`. Stores nothing.
   */
  beginCompanySignIn(from: { replaces: string | null; browser: string | undefined }): Promise<{ url: string; cookie: string } | undefined>
  /**
   * Verifies the response of the provider. `operatorId`: of the operator that the account has, or would have. The first call uses up the state,
   * whatever comes of it (`operator.single-use`).
   */
  verifyCompanyAccount(
    search: string,
    cookie: string | undefined,
    mayExchange: MayExchange,
  ): Promise<{ account: CompanyAccount; operatorId: string } | CompanyRefused>
  /** Finds the operator of a verified account, or gives it to the one with its email address; with roles from the claims, also creates one. */
  signInWithCompany(account: CompanyAccount, operatorId: string): Promise<Operator | CompanyRefused>
}

type Options = { oidc: Oidc | undefined; tokens: SignedTokens; newId: Ids['newId'] }

export function createCompanySignIn({ oidc, tokens, newId }: Options): PerRequest<CompanySignIn> {
  /** A state is used before the provider is asked: of many responses with it at the same time, and one after another, one costs a request. */
  async function verifyOnce(store: AdminStore, oidcOf: Oidc, response: OidcResponse): Promise<CompanyAccount | OidcRefused> {
    // mutant: operator.single-use
    if ((await store.write.useSignInState(response.state.use)) !== 'accepted') return 'oidc_expired'
    return oidcOf.exchange(response)
  }

  return {
    companyName: (_request) => oidc?.name,

    async beginCompanySignIn({ accounts: store }, { replaces, browser: text }) {
      if (!oidc) return undefined
      const browser = text === undefined ? undefined : tokens.read('browser', text)
      const identity = browser && Buffer.from(browser.use.digest).toString('base64url')
      return oidc.begin((await store.read.storeTime()) + stateMs, { replaces, browser: identity ?? null })
    },

    async verifyCompanyAccount({ accounts: store }, search, cookie, mayExchange) {
      if (!oidc) return 'oidc_unavailable'
      const response = oidc.read(search, cookie)
      if (!response) return 'oidc_expired'
      const attempt = mayExchange(response.browser ?? undefined)
      if (!attempt) return 'oidc_busy'
      let account: CompanyAccount | OidcRefused = 'oidc_failed'
      try {
        account = await verifyOnce(store, oidc, response)
      } finally {
        attempt.end(typeof account !== 'string' || isOfPerson(account))
      }
      if (typeof account === 'string') return account
      const found =
        (await store.read.findOperatorByIdentity(account.issuer, account.subject)) ?? (await store.read.findOperatorByEmail(account.email))
      return { account, operatorId: found?.id ?? newId('opr') }
    },

    async signInWithCompany({ accounts: store }, { issuer, subject, email, name, role }, operatorId) {
      const outcome = await store.write.signInWithCompany({ issuer, subject, email, name, role, id: operatorId })
      return outcome.kind === 'accepted' ? outcome.operator : refusals[outcome.kind]
    },
  }
}

const refusals: Record<Exclude<CompanySignInOutcome['kind'], 'accepted'>, CompanyRefused> = {
  unknown: 'oidc_unknown',
  other_account: 'oidc_other_account',
  disabled: 'oidc_disabled',
  no_role: 'oidc_role',
}

/** Whether the provider has signed a person in, who may not sign in here. Everything else could be made up by anyone. */
const isOfPerson = (refused: OidcRefused): boolean => refused === 'oidc_email' || refused === 'oidc_domain' || refused === 'oidc_groups'
