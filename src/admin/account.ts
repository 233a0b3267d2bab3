/** An operator's own account: its name and its sessions. What an operator may do is changed by others (operators.ts). */
import { ApiError } from '../errors.ts'
import type { Operator } from '../store/queries/operators.ts'
import type { OwnSession } from '../store/queries/sessions.ts'
import type { AdminStore } from './admin-store.ts'

/** Each throws ApiError `not_found` if no operator makes the request: a token has no account. */
export type AccountAdmin = {
  findAccount(): Promise<Operator>
  renameAccount(name: string): Promise<void>
  /** Newest first. */
  listOwnSessions(): Promise<OwnSession[]>
  /** Throws ApiError `not_found` also for a session of someone else. */
  closeOwnSession(id: string): Promise<void>
}

/** `store` is not restricted to an owner: an account belongs to the installation. `operatorId` is who makes the request. */
type Options = { store: AdminStore; operatorId: string | undefined }

export function createAccountAdmin({ store, operatorId }: Options): AccountAdmin {
  function own(): string {
    if (operatorId === undefined) throw new ApiError('not_found', 'A token has no account.')
    return operatorId
  }

  return {
    async findAccount() {
      const operator = await store.read.findOperator(own())
      // Removed since its session was looked up.
      if (!operator) throw new ApiError('unauthorized')
      return operator
    },
    async renameAccount(name) {
      await store.write.changeOperator(own(), { name })
    },
    listOwnSessions: async () => store.read.listSessions(own()),
    async closeOwnSession(id) {
      if (!(await store.write.closeSession(id, own()))) throw new ApiError('not_found', 'This session does not exist.')
    },
  }
}
