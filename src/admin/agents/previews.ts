/**
 * Runs a message with a version of an agent, and with drafted changes to it, before they are saved (`rerun.harmless`). The audit log names who made the run before it starts (`audit.trials`).
 */
import { isLongerThan } from '../../code-points.ts'
import { ApiError, invalid } from '../../errors.ts'
import { parseAgentConfig } from '../../agent/agent-config.ts'
import { definitionsOf } from '../../agent/tools/tools.ts'
import type { HistoryMessage } from '../../store/turn-records.ts'
import { refuseUnknownProvider } from '../providers/unknown-provider.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { historyBefore } from '../reruns.ts'
import { findTraced, modelOf } from '../traces.ts'
import { maxHistory, runUnstored, withinWindow } from '../unstored-run.ts'
import type { ReplyListener, UnstoredRun, UnstoredRunOptions } from '../unstored-run.ts'
import type { AgentOverrides } from '../../resources/agent.ts'

export type Preview = UnstoredRun & { version: number }

/**
 * Calls the model. Call once. `listener` gets each piece of the reply. A failure of the model is part of the result. Throws ApiError
 * `service_unavailable` if the store is unavailable, or the server stops or the reader leaves meanwhile.
 */
export type RunPreview = (listener?: ReplyListener) => Promise<Preview>

export type PreviewsAdmin = {
  /**
   * Checks what was asked, and returns the run. `version`: by default the current one. The cost is at the price of the version. Throws ApiError
   * `not_found` for an agent or a turn that does not exist, `validation_error` for a version or a provider of the model that does not exist and
   * for a message that is longer than the version accepts, and `service_unavailable` if the store is unavailable.
   */
  preparePreview(
    agentId: string,
    asked: {
      message: string
      historyOf: History
      version?: number | undefined
      overrides: AgentOverrides
      requestId: string
      /** Aborted when the reader of the result is gone. */
      left: AbortSignal
    },
  ): Promise<RunPreview>
}

/** The history: of the playground's conversation with this end user, or what this turn of the agent had. */
type History = { externalUserId: string } | { beforeTurn: string }

export function createPreviewsAdmin(options: UnstoredRunOptions): PerRequest<PreviewsAdmin> {
  async function readHistory(store: AdminStore, agentId: string, wanted: History, maxTokens: number): Promise<HistoryMessage[]> {
    if ('beforeTurn' in wanted) {
      const turn = await findTraced(store, wanted.beforeTurn)
      if (turn.agentId !== agentId) throw new ApiError('not_found', 'This agent has no such turn.')
      return historyBefore(store, turn, maxTokens)
    }
    const { externalUserId } = wanted
    const key = await store.read.findPlaygroundKey(agentId)
    const id = key.kind === 'found' ? await store.read.findConversationId(key.apiKeyId, externalUserId) : undefined
    return id === undefined ? [] : withinWindow(await store.read.listNewestMessages({ conversationId: id, limit: maxHistory }), maxTokens)
  }

  return {
    async preparePreview(request, agentId, { message, historyOf, version, overrides, requestId, left }) {
      const { store } = request
      const agent = await store.read.findAgent(agentId)
      if (!agent) throw new ApiError('not_found', 'This agent does not exist.')
      const { present } = agent
      const chosen = version === undefined || version === present.version ? present : await store.read.agentVersion(agentId, version)
      if (!chosen) throw invalid('version', `version: this agent has no version ${version}.`)
      const config = parseAgentConfig(chosen)
      const { maxMessageLength, history: limits } = config
      if (isLongerThan(message, maxMessageLength)) throw invalid('message', `message must have at most ${maxMessageLength} characters.`)
      // `rerun.harmless`
      await refuseUnknownProvider(request, overrides.model ?? config.model, overrides.model === undefined ? null : 'overrides.model')
      // mutant: audit.trials-2
      await store.write.recordTrial({ agentId, tool: null })
      const history = await readHistory(store, agentId, historyOf, limits.maxTokens)
      const context = { admittedAt: 0, message, config, ...modelOf(config.model), definitions: definitionsOf(config.tools) }
      const { version: agentVersion, price } = chosen
      const wanted = { requestId, agentId, agentVersion, context, price, overrides, message, history, left }
      return async (listener) => ({ ...(await runUnstored(options, wanted, listener)), version: agentVersion })
    },
  }
}
