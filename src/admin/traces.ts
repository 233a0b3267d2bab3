/**
 * Explains a turn afterwards (`trace.stored`): its runs and attempts as spans, from what the turn path stored, with the prompts rebuilt. Only
 * reads.
 */
import { parseAgentConfig, splitModel } from '../agent/agent-config.ts'
import { decodeTrace } from '../agent/trace.ts'
import type { Trace } from '../agent/trace.ts'
import { definitionsOf } from '../agent/tools/tools.ts'
import { ApiError } from '../errors.ts'
import { overrideFields } from '../resources/agent.ts'
import { changedBy } from '../resources/field.ts'
import type { Resource } from '../resources/field.ts'
import type { TracedTurn } from '../store/queries/traces.ts'
import type { TurnState } from '../store/queries/turns.ts'
import { historyOf } from '../store/turn-records.ts'
import type { HistoryMessage } from '../store/turn-records.ts'
import type { AdminStore, PerRequest } from './admin-store.ts'
import { explainCharge } from './explained-charge.ts'
import type { ExplainedCharge } from './explained-charge.ts'
import { spansOf } from './trace-spans.ts'
import type { RunContext, Span, TracedRun } from './trace-spans.ts'

export type TurnTrace = {
  requestId: string
  conversationId: string
  state: TurnState
  run: number
  message: string
  /** The stored reply. Null without one. */
  reply: string | null
  version: TracedVersion
  /** False while the turn runs, and if the trace of one of its runs is not stored: it is too old, traces are off, or its process died. */
  complete: boolean
  spans: Span[]
}

/** The version that the turn ran on, as far as a rerun can change it. */
export type TracedVersion = Resource<typeof overrideFields> & { number: number }

export type TracesAdmin = {
  /** Throws ApiError `not_found` for a turn that does not exist or was erased. */
  traceTurn(requestId: string): Promise<TurnTrace>
}

/** `liveTrace`: of a turn that runs in this process. */
type Options = { liveTrace(requestId: string): Trace | undefined }

export function createTracesAdmin({ liveTrace }: Options): PerRequest<TracesAdmin> {
  return {
    async traceTurn({ store }, id) {
      // Read first: a turn that ends in between is then shown as it was.
      const live = liveTrace(id)
      const turn = await findTraced(store, id)
      const traces = new Map(turn.traces.map(({ run, content }) => [run, decodeTrace(content)]))
      if (turn.state === 'running') traces.set(turn.run, live)
      const context = await contextOf(store, turn)
      const charge = await explainCharge(store, turn)
      const spans: Span[] = []
      for (let run = 1; run <= turn.run; run++) {
        const trace = traces.get(run)
        const history = await historyFor(store, turn, run, trace)
        spans.push(...spansOf(runOf(turn, run, { trace, history, charge: run === turn.run ? charge : null }), context))
      }
      const { id: requestId, conversationId, state, message, reply, agentVersion: number } = turn
      const version = { number, ...changedBy(overrideFields, context.config, {}) }
      const complete = state !== 'running' && [...Array(turn.run).keys()].every((index) => traces.get(index + 1) !== undefined)
      return { requestId, conversationId, state, run: turn.run, message, reply, version, complete, spans }
    },
  }
}

/** Throws ApiError `not_found`. */
export async function findTraced(store: AdminStore, requestId: string): Promise<TracedTurn> {
  const turn = await store.read.findTracedTurn(requestId)
  if (!turn) throw new ApiError('not_found', 'This turn does not exist.')
  return turn
}

export async function contextOf(store: AdminStore, { agentId, agentVersion, createdAt, message }: TracedTurn): Promise<RunContext> {
  const version = await store.read.agentVersion(agentId, agentVersion)
  if (!version) throw new Error(`agent ${agentId} has no version ${agentVersion}`)
  const config = parseAgentConfig(version)
  return { admittedAt: createdAt, message, config, ...modelOf(config.model), definitions: definitionsOf(config.tools) }
}

export function modelOf(model: string): { provider: string; modelId: string } {
  return splitModel(model) ?? { provider: '', modelId: model }
}

/** As many of the newest messages before the run as its prompts contained at most. */
async function historyFor(store: AdminStore, turn: TracedTurn, run: number, trace: Trace | undefined): Promise<HistoryMessage[]> {
  const limit = Math.max(0, ...(trace?.modelCalls.map(({ historyMessages }) => historyMessages) ?? []))
  if (limit === 0) return []
  const { id: requestId, conversationId } = turn
  const isLastRun = run === turn.run
  const messages = await store.read.listHistoryBefore({ requestId, conversationId, isLastRun, endedAt: endOf(turn, run), limit })
  return historyOf(messages.map(({ content }) => content))
}

/** By the store's clock. Of a running turn, now. */
function endOf(turn: TracedTurn, run: number): number {
  return turn.errors.find((error) => error.run === run)?.endedAt ?? turn.endedAt ?? turn.readAt
}

/** `retry.continues`: the journal that the run worked with. */
const journalOf = ({ steps, continuesFrom }: TracedTurn, run: number): TracedTurn['steps'] =>
  steps.filter((entry) =>
    continuesFrom !== null && continuesFrom <= run ? entry.run >= continuesFrom && entry.run <= run : entry.run === run,
  )

type Found = { trace: Trace | undefined; history: HistoryMessage[]; charge: ExplainedCharge | null }

function runOf(turn: TracedTurn, run: number, { trace, history, charge }: Found): TracedRun {
  const isLast = run === turn.run
  const causeKind = turn.errors.find((error) => error.run === run)?.causeKind ?? null
  const state = isLast ? turn.state : 'released'
  return {
    run,
    attempts: trace?.attempt ?? (isLast ? turn.attempt : 1),
    state: causeKind === 'process_died' && !trace ? 'process_died' : state,
    causeKind,
    cause: isLast ? (turn.failure?.cause ?? null) : null,
    startMs: startOf(turn, run, trace),
    trace,
    journal: journalOf(turn, run),
    reply: isLast ? turn.reply : null,
    charged: charge?.calculation.charged ?? 0n,
    charge,
    history,
  }
}

/**
 * When the attempt that ended the run started, in milliseconds after the admission of the turn. The start of the current run is stored. The
 * others are computed from the end of their run, which is stored, and their duration.
 */
function startOf(turn: TracedTurn, run: number, trace: Trace | undefined): number | null {
  const isFirstAttempt = trace ? trace.attempt === 1 : turn.attempt === 1
  if (run === 1 && isFirstAttempt) return 0
  if (run === turn.run && isFirstAttempt) return turn.startedAt - turn.createdAt
  return trace ? Math.max(0, endOf(turn, run) - turn.createdAt - trace.endMs) : null
}
