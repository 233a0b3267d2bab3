/** The present name of the agent of an API key, for protocols that show it to their callers. */
import { ApiError } from '../errors.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'

/** Throws ApiError `agent_not_found` for a deleted agent, and `service_unavailable`. */
export type FindAgentName = (agentId: string) => Promise<string>

export function createFindAgentName({ store }: { store: Store }): FindAgentName {
  return async (agentId) => {
    const agent = await store.read.findAgent(agentId).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
    })
    if (!agent) throw new ApiError('agent_not_found')
    return agent.present.name
  }
}
