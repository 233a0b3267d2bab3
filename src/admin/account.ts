/** An operator's own account: its name and its sessions. What an operator may do is changed by others (operators.ts). */
import { ApiError } from '../errors.ts'
import type { Operator } from '../store/queries/operators.ts'
import type { OwnSession } from '../store/queries/sessions.ts'
import type { PerRequest } from './admin-store.ts'

/** Each throws ApiError `not_found` if no operator makes the request: a token has no account. */
export type AccountAdmin = {
  findAccount(): Promise<Operator>
  renameAccount(name: string): Promise<void>
  /** Newest first. */
  listOwnSessions(): Promise<OwnSession[]>
  /** Throws ApiError `not_found` also for a session of someone else. */
  closeOwnSession(id: string): Promise<void>
}

export const accountAdmin: PerRequest<AccountAdmin> = {
  async findAccount({ accounts, operatorId }) {
    const operator = await accounts.read.findOperator(own(operatorId))
    // Removed since its session was looked up.
    if (!operator) throw new ApiError('unauthorized')
    return operator
  },
  async renameAccount({ accounts, operatorId }, name) {
    await accounts.write.changeOperator(own(operatorId), { name })
  },
  listOwnSessions: async ({ accounts, operatorId }) => accounts.read.listSessions(own(operatorId)),
  async closeOwnSession({ accounts, operatorId }, id) {
    if (!(await accounts.write.closeSession(id, own(operatorId)))) throw new ApiError('not_found', 'This session does not exist.')
  },
}

function own(operatorId: string | undefined): string {
  if (operatorId === undefined) throw new ApiError('not_found', 'A token has no account.')
  return operatorId
}
