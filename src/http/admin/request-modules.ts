/**
 * What the routes of the admin API use besides `request.admin`, bound to one request: erasure, streams and cancels of turns, the playground and
 * the status of the service. What belongs to another owner than the one that the principal is restricted to does not exist here either
 * (`operator.scope`), so that no route has to check it.
 */
import type { Admin, AdminCalls } from '../../admin/admin.ts'
import type { Verification, Verify } from '../../admin/verification.ts'
import { ApiError } from '../../errors.ts'
import type { Status } from '../../observability/status.ts'
import { ofInstallation } from '../../operators/principal.ts'
import type { Scope } from '../../operators/principal.ts'
import type { Actor } from '../../store/queries/audit.ts'
import type { EraseOutcome, Erasure } from '../../turn/erasure.ts'
import { operatorShare } from '../../turn/outcome.ts'
import type { BeginResult, TurnRequest } from '../../turn/outcome.ts'
import type { TurnResource } from '../../turn/turn-resource.ts'
import type { Turns } from '../public/chat-routes.ts'

export type RequestModules = {
  eraseConversation(id: string): Promise<EraseOutcome>
  /** Erases with all keys of the agent. */
  eraseEndUser(endUser: { agentId: string; externalUserId: string }): Promise<EraseOutcome>
  /** To follow a turn of any key. Throws ApiError `not_found`. */
  turns: Pick<TurnResource, 'find' | 'open'>
  /** Throws ApiError `not_found`. */
  cancelTurn(requestId: string): Promise<void>
  /** Runs a message with the playground key of the agent. Throws ApiError `not_found`. */
  beginInPlayground(message: Pick<TurnRequest, 'agentId' | 'idempotencyKey' | 'externalUserId' | 'message'>): Promise<BeginResult>
  /** Both throw ApiError `forbidden` for a restricted principal. */
  readStatus(): Promise<Status>
  verify(): Promise<Verification>
}

export type ModulesOfRoutes = {
  admin: Pick<Admin, 'authorOf'>
  turns: Turns
  erasure: Erasure
  service: { status: () => Promise<Status>; verify: Verify }
}

export function modulesOf(modules: ModulesOfRoutes, calls: AdminCalls, actor: Actor, scope: Scope | null): RequestModules {
  const { turns, erasure, service, admin } = modules
  async function refuseUnknown(requestId: string): Promise<void> {
    if (!(await calls.sees('turn', requestId))) throw new ApiError('not_found', 'This turn does not exist.')
  }
  function refuseRestricted(): void {
    if (scope) throw new ApiError('forbidden', ofInstallation)
  }
  return {
    async eraseConversation(id) {
      return (await calls.sees('conversation', id)) ? erasure.eraseConversation(id, actor) : { kind: 'not_found' }
    },
    async eraseEndUser(endUser) {
      return (await calls.sees('agent', endUser.agentId)) ? erasure.eraseEndUser(endUser, actor) : { kind: 'not_found' }
    },
    turns: {
      async find(wanted) {
        await refuseUnknown(wanted.requestId)
        return turns.resource.find(wanted)
      },
      async open(wanted) {
        await refuseUnknown(wanted.requestId)
        return turns.resource.open(wanted)
      },
    },
    async cancelTurn(requestId) {
      await refuseUnknown(requestId)
      await turns.resource.cancel({ requestId, apiKeyId: undefined, shareOf: operatorShare }, admin.authorOf(actor))
    },
    async beginInPlayground(message) {
      const apiKeyId = await calls.openPlayground(message.agentId)
      return turns.begin({ ...message, apiKeyId, traceparent: null, shareOf: scope?.ownerId ?? operatorShare })
    },
    async readStatus() {
      refuseRestricted()
      return service.status()
    },
    async verify() {
      refuseRestricted()
      return service.verify()
    },
  }
}
