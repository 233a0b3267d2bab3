/**
 * Runs a message for the operator without a turn (`rerun.harmless`): what a rerun and a preview have in common. Stores nothing, charges no
 * one, and calls no tool that may have side effects.
 */
import type { CauseKind } from '../cause-kinds.ts'
import type { Agents } from '../agent/agent.ts'
import type { ModelUsage } from '../agent/models/model.ts'
import { TraceRecorder } from '../agent/trace-recorder.ts'
import { ApiError } from '../errors.ts'
import { cost } from '../ledger/ledger.ts'
import type { Amount, Price } from '../ledger/ledger.ts'
import { agentFields } from '../resources/agent.ts'
import { changedBy } from '../resources/field.ts'
import type { AgentOverrides } from '../resources/agent.ts'
import { StoreUnavailable } from '../store/store.ts'
import { historyOf } from '../store/turn-records.ts'
import type { HistoryMessage, JournalEntry } from '../store/turn-records.ts'
import { spansOf } from './trace-spans.ts'
import type { RunContext, Span } from './trace-spans.ts'
import { modelOf } from './traces.ts'

export type UnstoredRun = {
  /** Empty without a reply. */
  text: string
  usage: ModelUsage
  usageEstimated: boolean
  /** What the usage costs. Nothing is charged. */
  cost: Amount
  /** Why there is no reply. */
  failure: { causeKind: CauseKind; cause: string } | null
  spans: Span[]
}

/** `closing` ends running ones. `turnMs`: their deadline, that of a turn. */
export type UnstoredRunOptions = { agents: Agents; closing: AbortSignal; turnMs: number }

type Wanted = {
  requestId: string
  agentId: string
  agentVersion: number
  /** Of the version. */
  context: RunContext
  price: Price
  overrides: AgentOverrides
  message: string
  history: HistoryMessage[]
  /** Aborted when its reader is gone. */
  left: AbortSignal
}

/** `onReset`: text that was passed on is taken back. The reply starts again with `text`, and the next pieces follow it. */
export type ReplyListener = { onText(text: string): void; onReset(text: string): void }

const noListener: ReplyListener = { onText: () => undefined, onReset: () => undefined }

/**
 * `listener` gets each piece of the reply. A failure of the model is part of the result. Throws ApiError `service_unavailable` if the
 * store is unavailable, and if the server stops or the reader leaves meanwhile.
 */
export async function runUnstored(
  { agents, closing, turnMs }: UnstoredRunOptions,
  wanted: Wanted,
  listener: ReplyListener = noListener,
): Promise<UnstoredRun> {
  const { requestId, agentId, agentVersion, context, message, history, left } = wanted
  const { name: _, ...changes } = changedBy(agentFields, { name: '', ...context.config }, wanted.overrides)
  const config = { ...context.config, ...changes }
  const deadline = AbortSignal.timeout(turnMs)
  const trace = new TraceRecorder({ attempt: 1, hold: 0n }, 0)
  const startedAt = performance.now()
  const journal: (JournalEntry & { run: number; createdAt: number })[] = []
  const keep = async (entries: JournalEntry[]): Promise<boolean> => {
    const createdAt = Math.round(performance.now() - startedAt)
    journal.push(...entries.map((entry) => ({ ...entry, run: 1, createdAt })))
    return true
  }
  let usage: ModelUsage = { promptTokens: 0, cachedPromptTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 }
  let toolCalls = 0
  const result = await agents
    .generate({
      requestId,
      agentId,
      agentVersion,
      message,
      history,
      journal: [],
      stepsBefore: 0,
      unstored: { changes },
      trace,
      signal: AbortSignal.any([closing, deadline, left]),
      onDelta: (text) => listener.onText(text),
      onReset: (text) => listener.onReset(text),
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
  if (left.aborted) throw new ApiError('service_unavailable', 'The connection was closed before there was a reply. Nothing was stored.')
  const isReply = result.kind === 'reply'
  const failure: UnstoredRun['failure'] = isReply
    ? null
    : result.kind === 'stopped'
      ? { causeKind: 'turn_timeout', cause: 'the run exceeded the deadline of a turn' }
      : { causeKind: result.causeKind, cause: result.cause }
  const reply = isReply ? result.text : null
  const run = { run: 1, attempts: 1, startMs: 0, causeKind: failure?.causeKind ?? null, cause: failure?.cause ?? null }
  const traced = { trace: trace.trace(0n, isReply), journal, reply, charged: 0n, charge: null, history }
  const spans = spansOf(
    { ...run, ...traced, state: isReply ? 'completed' : 'failed' },
    { ...context, ...modelOf(config.model), admittedAt: 0, message, config },
  )
  return {
    text: reply ?? '',
    usage,
    usageEstimated: isReply && result.usageEstimated,
    cost: cost(usage, wanted.price) + BigInt(toolCalls),
    failure,
    // Without what belongs to a stored turn, and with the calls that were not made, of which only the journal knows, in their place.
    spans: spans
      .filter(({ type }) => type !== 'admission' && type !== 'settlement')
      .toSorted((one, other) => (one.startMs ?? 0) - (other.startMs ?? 0)),
  }
}

/** Of messages to read for a run. The history of a run has at most as many tokens as the window of its version. */
export const maxHistory = 2000

/** The newest whole exchanges that fit in the history window of a version. */
export function withinWindow(messages: { content: string; tokens: number }[], maxTokens: number): HistoryMessage[] {
  let left = maxTokens
  let from = messages.length
  for (; from >= 2; from -= 2) {
    left -= messages[from - 1]!.tokens + messages[from - 2]!.tokens
    if (left < 0) break
  }
  return historyOf(messages.slice(from).map(({ content }) => content))
}

function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreUnavailable ? new ApiError('service_unavailable') : error
}
