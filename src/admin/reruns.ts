/** Runs the message of a turn again for the operator, with the same history and, if wanted, another prompt, model or parameters (`rerun.harmless`). */
import { ApiError } from '../errors.ts'
import type { HistoryMessage } from '../store/turn-records.ts'
import type { TracedTurn } from '../store/queries/traces.ts'
import type { AdminStore, PerRequest } from './admin-store.ts'
import { refuseUnknownProvider } from './providers/unknown-provider.ts'
import { contextOf, findTraced } from './traces.ts'
import { maxHistory, runUnstored, withinWindow } from './unstored-run.ts'
import type { UnstoredRun, UnstoredRunOptions } from './unstored-run.ts'
import type { AgentOverrides } from '../resources/agent.ts'

/** `left` is aborted when the reader of the result is gone. */
type Asked = { overrides: AgentOverrides & { message?: string | undefined }; requestId: string; left: AbortSignal }

export type RerunsAdmin = {
  /**
   * Throws ApiError `not_found` for a turn that does not exist or was erased, `conflict` while it runs, `validation_error` for a model of an unknown provider, and `service_unavailable` if the
   * store is unavailable or the server stops meanwhile. A failure of the model is part of the result. The cost is at the price of the turn.
   */
  rerunTurn(turnId: string, asked: Asked): Promise<UnstoredRun>
}

export function createRerunsAdmin(options: UnstoredRunOptions): PerRequest<RerunsAdmin> {
  return {
    async rerunTurn(request, turnId, { overrides, requestId, left }) {
      const { store } = request
      const turn = await findTraced(store, turnId)
      if (turn.state === 'running') throw new ApiError('conflict', 'This turn is still running. Run it again when it has ended.')
      const context = await contextOf(store, turn)
      // `rerun.harmless`
      await refuseUnknownProvider(
        request,
        overrides.model ?? context.config.model,
        overrides.model === undefined ? null : 'overrides.model',
      )
      const history = await historyBefore(store, turn, context.config.history.maxTokens)
      const { message = turn.message, ...changes } = overrides
      const { agentId, agentVersion, price } = turn
      return runUnstored(options, { requestId, agentId, agentVersion, context, price, overrides: changes, message, history, left })
    },
  }
}

/** The newest whole exchanges before the turn that fit in the history window of its version. */
export async function historyBefore(store: AdminStore, turn: TracedTurn, maxTokens: number): Promise<HistoryMessage[]> {
  const { id: requestId, conversationId } = turn
  const endedAt = turn.endedAt ?? turn.readAt
  return withinWindow(
    await store.read.listHistoryBefore({ requestId, conversationId, isLastRun: true, endedAt, limit: maxHistory }),
    maxTokens,
  )
}
