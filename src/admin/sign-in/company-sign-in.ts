/** Signing in with the company account (`operator.oidc`): the operator that belongs to an account of the identity provider. */
import type { Ids } from '../../ids.ts'
import { stateMs } from '../../operators/oidc.ts'
import type { CompanyAccount, Oidc, OidcRefused } from '../../operators/oidc.ts'
import type { CompanySignInOutcome } from '../../store/queries/operator-sign-in.ts'
import type { Operator } from '../../store/queries/operators.ts'
import type { AdminStore } from '../admin-store.ts'

/** `oidc_unknown`: no operator has this email address. `oidc_other_account`: the one that has it belongs to another account. */
export type CompanyRefused = OidcRefused | 'oidc_unknown' | 'oidc_other_account' | 'oidc_disabled' | 'oidc_role'

export type CompanySignIn = {
  /** Undefined without an identity provider. */
  companyName(): string | undefined
  /** Where to send the browser, and its cookie. Undefined if the provider cannot be reached. `replaces`: the browser's session. */
  beginCompanySignIn(replaces: string | null): Promise<{ url: string; cookie: string } | undefined>
  /** Verifies the response of the provider. `operatorId`: of the operator that the account has, or would have. */
  verifyCompanyAccount(
    search: string,
    cookie: string | undefined,
  ): Promise<{ account: CompanyAccount; operatorId: string } | CompanyRefused>
  /** Finds the operator of a verified account, or gives it to the one with its email address; with roles from the claims, also creates one. */
  signInWithCompany(account: CompanyAccount, operatorId: string): Promise<Operator | CompanyRefused>
}

type Options = { store: AdminStore; oidc: Oidc | undefined; newId: Ids['newId'] }

export function createCompanySignIn({ store, oidc, newId }: Options): CompanySignIn {
  return {
    companyName: () => oidc?.name,

    async beginCompanySignIn(replaces) {
      return oidc?.begin((await store.read.storeTime()) + stateMs, replaces)
    },

    async verifyCompanyAccount(search, cookie) {
      if (!oidc) return 'oidc_unavailable'
      const account = await oidc.finish(search, cookie)
      if (typeof account === 'string') return account
      const found =
        (await store.read.findOperatorByIdentity(account.issuer, account.subject)) ?? (await store.read.findOperatorByEmail(account.email))
      return { account, operatorId: found?.id ?? newId('opr') }
    },

    async signInWithCompany({ state, issuer, subject, email, name, role }, operatorId) {
      const outcome = await store.write.signInWithCompany({ state: state.use, issuer, subject, email, name, role, id: operatorId })
      return outcome.kind === 'accepted' ? outcome.operator : refusals[outcome.kind]
    },
  }
}

const refusals: Record<Exclude<CompanySignInOutcome['kind'], 'accepted'>, CompanyRefused> = {
  unknown: 'oidc_unknown',
  other_account: 'oidc_other_account',
  disabled: 'oidc_disabled',
  no_role: 'oidc_role',
  used: 'oidc_expired',
  expired: 'oidc_expired',
}
