/** Signing in with a passkey, and the passkeys of the own account (`operator.passkey`). */
import { ApiError, invalid } from '../../errors.ts'
import { challengeMs, PasskeyRefused } from '../../operators/passkeys.ts'
import type { Passkeys, RelyingParty } from '../../operators/passkeys.ts'
import type { Operator } from '../../store/queries/operators.ts'
import { maxPasskeys } from '../../store/queries/passkeys.ts'
import type { Passkey } from '../../store/queries/passkeys.ts'
import type { AdminStore, PerRequest, AdminRequest } from '../admin-store.ts'
import { recentSignIn } from './recent-sign-in.ts'
import type { OwnSession } from './recent-sign-in.ts'

/** What `navigator.credentials` returned, as JSON. Only its ID is known to be a text. */
export type BrowserResponse = { id: string; [field: string]: unknown }

export type PasskeySignIn = {
  /** Options for the browser. They name no account, so they tell nothing about which exist. */
  passkeyOptions(party: RelyingParty): ReturnType<Passkeys['signIn']>
  /** Throws ApiError `unauthorized`, with the same message for every reason. */
  checkPasskey(party: RelyingParty, response: BrowserResponse): Promise<Operator>

  /** Each of these throws ApiError `not_found` if no operator makes the request. Oldest first. */
  listPasskeys(): Promise<Passkey[]>
  /** Throws ApiError `forbidden` without a recent sign-in, and `conflict` if the operator has a company account. */
  newPasskeyOptions(party: RelyingParty, session: OwnSession): ReturnType<Passkeys['newPasskey']>
  /** Also throws ApiError `validation_error` for a response that is not accepted. */
  addPasskey(party: RelyingParty, session: OwnSession, given: { name: string; response: BrowserResponse }): Promise<Passkey>
  /** Ends the other sessions. Throws ApiError `conflict` for what is the only way to sign in. */
  removePasskey(id: string, session: OwnSession): Promise<void>
}

const wrongPasskey = 'This passkey was not accepted. It may have been removed, its account may be disabled, or it took too long.'
const companyAccount = 'You sign in with your company account, so you have no passkeys here.'
// The specification limits an ID to 1,023 bytes.
const idForm = /^[\w-]{1,1364}$/

export function createPasskeySignIn({ passkeys }: { passkeys: Passkeys }): PerRequest<PasskeySignIn> {
  const challengeEnd = async (store: AdminStore): Promise<number> => (await store.read.storeTime()) + challengeMs

  async function own({ accounts, operatorId }: AdminRequest): Promise<Operator> {
    const operator = operatorId === undefined ? undefined : await accounts.read.findOperator(operatorId)
    if (!operator) throw new ApiError('not_found', 'A token has no account.')
    return operator
  }

  return {
    passkeyOptions: async ({ accounts: store }, party) => passkeys.signIn(party, await challengeEnd(store)),

    async checkPasskey({ accounts: store }, party, response) {
      const found = idForm.test(response.id) ? await store.read.findPasskey(response.id) : undefined
      if (!found || found.operator.state !== 'active') throw new ApiError('unauthorized', wrongPasskey)
      const { operator, ...key } = found
      const { counter, challenge } = await refusing(
        () => passkeys.accept(party, response, { ...key, operatorId: operator.id }),
        () => new ApiError('unauthorized', wrongPasskey),
      )
      const outcome = await store.write.usePasskey({ id: key.id, counter, challenge: challenge.use })
      if (outcome.kind !== 'accepted') throw new ApiError('unauthorized', wrongPasskey)
      return outcome.operator
    },

    async listPasskeys(request) {
      return request.accounts.read.listPasskeys((await own(request)).id)
    },

    async newPasskeyOptions(request, party, session) {
      const { id, email, name, hasCompanyAccount } = await own(request)
      if (hasCompanyAccount) throw new ApiError('conflict', companyAccount)
      await recentSignIn(request.accounts, session)
      const present = await request.accounts.read.listPasskeys(id)
      return passkeys.newPasskey(party, { id, email, name, passkeys: present }, session.id, await challengeEnd(request.accounts))
    },

    async addPasskey(request, party, session, { name, response }) {
      const { id: ownId, hasCompanyAccount } = await own(request)
      if (hasCompanyAccount) throw new ApiError('conflict', companyAccount)
      await recentSignIn(request.accounts, session)
      const registered = await refusing(
        () => passkeys.register(party, response, ownId, session.id),
        (cause) => invalid('response', `response is not accepted: ${cause}.`),
      )
      if (!idForm.test(registered.id)) throw invalid('response', 'response is not accepted: its id is too long.')
      const outcome = await request.accounts.write.addPasskey({
        ...registered,
        challenge: registered.challenge.use,
        operatorId: ownId,
        name,
      })
      switch (outcome.kind) {
        case 'added':
          return outcome.passkey
        case 'exists':
          throw new ApiError('conflict', 'This passkey was added before.')
        case 'too_many':
          throw new ApiError('conflict', `You have ${maxPasskeys} passkeys, which is the maximum. Remove one first.`)
        case 'refused':
          throw new ApiError('conflict', 'Your account was changed at the same time. Try again.')
        case 'used':
        case 'expired':
          throw invalid('response', 'response is not accepted: its challenge was used or has expired. Start again.')
      }
    },

    async removePasskey(request, id, session) {
      const outcome = await request.accounts.write.removePasskey((await own(request)).id, id, session.id)
      if (outcome === 'not_found') throw new ApiError('not_found', 'This passkey does not exist.')
      if (outcome === 'only_sign_in')
        throw new ApiError('conflict', 'This passkey is your only way to sign in. Set a password or add another passkey first.')
    },
  }
}

async function refusing<Result>(check: () => Promise<Result>, refusal: (cause: string) => ApiError): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    throw error instanceof PasskeyRefused ? refusal(error.message.replace(/\.$/, '')) : error
  }
}
