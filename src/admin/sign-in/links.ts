/** Signing in with a link: an invitation by an admin, or a link for recovery that was made on the machine of the server. */
import { ApiError } from '../../errors.ts'
import type { Ids } from '../../ids.ts'
import type { Passwords } from '../../operators/passwords.ts'
import type { SignedToken, SignedTokens } from '../../operators/signed-tokens.ts'
import type { Operator } from '../../store/queries/operators.ts'
import type { PerRequest, AdminRequest } from '../admin-store.ts'
import { digestOfInvitation, readEmail } from '../operators.ts'
import { checkNewPassword } from './password-sign-in.ts'

/** A link for recovery that is signed. Whether it was used, or has expired, is known when it is used. */
export type RecoveryLink = { token: SignedToken; email: string; operatorId: string }

/** Each throws ApiError `unauthorized` for a link that does not exist, was used or has expired, and `validation_error` for a password. */
export type LinkSignIn = {
  findInvitation(token: string): Promise<{ operator: Operator; expiresAt: number }>
  /** `operator.invitation`: of many at the same time, one succeeds. Without a password, the operator has to add a passkey. */
  acceptInvitation(given: { token: string; name: string | undefined; password: string | undefined }): Promise<Operator>
  /** Checks the signature, and finds or chooses the ID of the operator that the link is used for. */
  findRecovery(given: { token: string; email: string }): Promise<RecoveryLink>
  /** `operator.recovery`: makes the operator an active admin without restrictions. */
  recover(link: RecoveryLink, given: { name: string | undefined; password: string }): Promise<Operator>
}

const recoveryPrefix = 'svc_recover_'
const usedInvitation = 'This invitation does not exist, was used or has expired. Ask an admin for a new link.'
const usedRecovery = 'This link is not valid, was used or has expired. Make a new one with: npx --no-install turnkeep operator recover'

type Options = { passwords: Passwords; tokens: SignedTokens; newId: Ids['newId'] }

export function createLinkSignIn({ passwords, tokens, newId }: Options): PerRequest<LinkSignIn> {
  async function findInvitation({ accounts: store }: AdminRequest, token: string): ReturnType<LinkSignIn['findInvitation']> {
    const found = await store.read.findInvitation(digestOfInvitation(token))
    if (!found) throw new ApiError('unauthorized', usedInvitation)
    return found
  }

  return {
    findInvitation,

    async acceptInvitation(request, { token, name, password }) {
      const { operator } = await findInvitation(request, token)
      if (password !== undefined) checkNewPassword('password', password, { email: operator.email, name: name ?? operator.name })
      const passwordHash = password === undefined ? null : await passwords.hash(password)
      const accepted = await request.accounts.write.acceptInvitation({
        digest: digestOfInvitation(token),
        name: name ?? null,
        passwordHash,
      })
      if (!accepted) throw new ApiError('unauthorized', usedInvitation)
      return accepted
    },

    async findRecovery({ accounts: store }, { token: text, email }) {
      const token = text.startsWith(recoveryPrefix) ? tokens.read('recovery', text.slice(recoveryPrefix.length)) : undefined
      // A link that was used or has expired costs no hash of a password, which would keep others waiting.
      // mutant: operator.recovery-2
      if (!token || !(await store.read.isTokenUnused(token.use))) throw new ApiError('unauthorized', usedRecovery)
      const address = readEmail(email)
      return { token, email: address, operatorId: (await store.read.findOperatorByEmail(address))?.id ?? newId('opr') }
    },

    async recover({ accounts: store }, { token, email, operatorId }, { name, password }) {
      checkNewPassword('password', password, { email, name: name ?? '' })
      const passwordHash = await passwords.hash(password)
      const outcome = await store.write.recoverOperator({ token: token.use, id: operatorId, email, name: name ?? null, passwordHash })
      if (outcome.kind !== 'recovered') throw new ApiError('unauthorized', usedRecovery)
      return outcome.operator
    },
  }
}
