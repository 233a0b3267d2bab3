/**
 * Runs the message of a turn again for the operator, with the same history and, if wanted, another prompt, model or parameters
 * (`rerun.harmless`).
 * Stores nothing, charges no one, and calls no tool that may have side effects.
 */
import type { Agents } from '../agent/agent.ts'
import { TraceRecorder } from '../agent/trace-recorder.ts'
import type { ModelUsage } from '../agent/models/model.ts'
import { ApiError } from '../errors.ts'
import { cost } from '../ledger/ledger.ts'
import type { Amount } from '../ledger/ledger.ts'
import { StoreUnavailable } from '../store/store.ts'
import { historyOf } from '../store/turn-records.ts'
import type { HistoryMessage, JournalEntry } from '../store/turn-records.ts'
import type { TracedTurn } from '../store/queries/traces.ts'
import type { AdminStore } from './admin-store.ts'
import { spansOf } from './trace-spans.ts'
import type { Span } from './trace-spans.ts'
import { contextOf, findTraced, modelOf } from './traces.ts'

export type Overrides = {
  systemPrompt?: string | undefined
  /** `<provider name>/<model id>`. */
  model?: string | undefined
  temperature?: number | null | undefined
  maxOutputTokens?: number | undefined
  message?: string | undefined
}

export type Rerun = {
  /** Empty without a reply. */
  text: string
  usage: ModelUsage
  usageEstimated: boolean
  /** What the usage costs at the price of the turn. Nothing is charged. */
  cost: Amount
  /** Why there is no reply. */
  failure: { causeKind: string; cause: string } | null
  spans: Span[]
}

export type RerunsAdmin = {
  /**
   * Throws ApiError `not_found` for a turn that does not exist or was erased, `conflict` while it runs, and `service_unavailable` if the
   * store is unavailable or the server stops meanwhile. A failure of the model is part of the result.
   */
  rerunTurn(turnId: string, asked: { overrides: Overrides; requestId: string }): Promise<Rerun>
}

/** `closing` ends running reruns. `turnMs`: their deadline, that of a turn. */
type Options = { store: AdminStore; agents: Agents; closing: AbortSignal; turnMs: number }

// Of a turn without a trace. Its history has at most as many tokens as the window of the version.
const maxHistory = 2000

export function createRerunsAdmin({ store, agents, closing, turnMs }: Options): RerunsAdmin {
  return {
    async rerunTurn(turnId, { overrides, requestId }) {
      const turn = await findTraced(store, turnId)
      if (turn.state === 'running') throw new ApiError('conflict', 'This turn is still running. Run it again when it has ended.')
      const context = await contextOf(store, turn)
      const history = await historyBefore(store, turn, context.config.historyMaxTokens)
      const { message: changed, ...changes } = withoutUndefined(overrides)
      const message = changed ?? turn.message
      const config = { ...context.config, ...changes }

      const deadline = AbortSignal.timeout(turnMs)
      const trace = new TraceRecorder({ attempt: 1, hold: 0n }, 0)
      const journal: JournalEntry[] = []
      const keep = async (entries: JournalEntry[]): Promise<boolean> => {
        journal.push(...entries)
        return true
      }
      let usage: ModelUsage = { promptTokens: 0, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 }
      let toolCalls = 0
      const result = await agents
        .generate({
          requestId,
          agentId: turn.agentId,
          agentVersion: turn.agentVersion,
          message,
          history,
          journal: [],
          stepsBefore: 0,
          rerun: { changes },
          trace,
          signal: AbortSignal.any([closing, deadline]),
          onDelta: () => undefined,
          onUsage(used, toolCallsPrice) {
            usage = used
            toolCalls = toolCallsPrice
          },
          beforeCalls: keep,
          beforeStep: ({ entries }) => keep(entries),
          writeJournal: keep,
        })
        .catch(refuseUnavailable)
      if (closing.aborted) throw closing.reason
      const isReply = result.kind === 'reply'
      const failure = isReply
        ? null
        : result.kind === 'stopped'
          ? { causeKind: 'turn_timeout', cause: 'the rerun exceeded the deadline of a turn' }
          : { causeKind: result.causeKind, cause: result.cause }
      const run = { run: 1, attempts: 1, startMs: 0, causeKind: failure?.causeKind ?? null, cause: failure?.cause ?? null }
      const entries = journal.map((entry) => ({ ...entry, run: 1, createdAt: 0 }))
      const spans = spansOf(
        {
          ...run,
          state: isReply ? 'completed' : 'failed',
          trace: trace.trace(0n, isReply),
          journal: entries,
          reply: isReply ? result.text : null,
          charged: 0n,
          charge: null,
          history,
        },
        { ...context, ...modelOf(config.model), admittedAt: 0, message, config },
      )
      return {
        text: isReply ? result.text : '',
        usage,
        usageEstimated: isReply && result.usageEstimated,
        cost: cost(usage, turn.price) + BigInt(toolCalls),
        failure,
        // What belongs to a stored turn.
        spans: spans.filter(({ type }) => type !== 'admission' && type !== 'settlement'),
      }
    },
  }
}

/** The newest whole exchanges before the turn that fit in the history window of its version. */
async function historyBefore(store: AdminStore, turn: TracedTurn, maxTokens: number): Promise<HistoryMessage[]> {
  const { id: requestId, conversationId } = turn
  const hasReply = turn.reply !== null
  const endedAt = turn.endedAt ?? turn.readAt
  const messages = await store.read.listHistoryBefore({ requestId, conversationId, hasReply, endedAt, limit: maxHistory })
  let left = maxTokens
  let from = messages.length
  for (; from >= 2; from -= 2) {
    left -= messages[from - 1]!.tokens + messages[from - 2]!.tokens
    if (left < 0) break
  }
  return historyOf(messages.slice(from).map(({ content }) => content))
}

const withoutUndefined = (overrides: Overrides): Overrides =>
  Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined))

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
