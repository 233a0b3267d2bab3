/**
 * Turns one run of a turn into spans: from its trace, and from the journal for what its trace does not contain, because the attempt that did
 * it died. Pure. A span says where it comes from.
 */
import type { Step, StepCall } from '../agent/journal.ts'
import { readJournal } from '../agent/journal.ts'
import type { FinishReason, ModelUsage, PromptMessage, Skipped, ToolCall } from '../agent/models/model.ts'
import type { definitionsOf } from '../agent/tools/tools.ts'
import { lastTextOf, rebuildPrompt } from '../agent/rebuilt-prompt.ts'
import type { Trace, TracedError, TracedModelCall, TracedPassage, TracedToolCall } from '../agent/trace.ts'
import type { AgentConfig } from '../agent/agent-config.ts'
import type { CauseKind } from '../cause-kinds.ts'
import type { Amount } from '../ledger/ledger.ts'
import type { ExplainedCharge } from './explained-charge.ts'
import type { TurnState, TurnStep } from '../store/queries/turns.ts'
import type { HistoryMessage } from '../store/turn-records.ts'

/** How an attempt ended. `process_died`: no process ended it, and another one claimed the turn, or its last attempt was used. */
export type AttemptEnd = TurnState | 'process_died'

type Definitions = ReturnType<typeof definitionsOf>

/** Milliseconds are since the admission of the turn. Null: not known. */
type Common = { run: number; attempt: number | null; startMs: number | null; durationMs: number | null }

export type Span = Common &
  (
    | { type: 'attempt'; end: AttemptEnd; causeKind: CauseKind | null; cause: string | null }
    | { type: 'admission'; held: Amount }
    | { type: 'retrieval'; query: string; passages: TracedPassage[] }
    | ({ type: 'model_call'; recorded: 'trace' | 'journal' } & ModelCallFields)
    | ({ type: 'tool_call'; recorded: 'trace' | 'journal' } & ToolCallFields)
    | { type: 'settlement'; charged: Amount; released: Amount; charge: ExplainedCharge | null }
  )

type ModelCallFields = {
  step: number
  /** 1 for the first call of a step, and one more for each retry. Null if only the answer is known. */
  number: number | null
  provider: string
  model: string
  temperature: number | null
  maxOutputTokens: number
  /** Null if they cannot be rebuilt. */
  messages: PromptMessage[] | null
  tools: Definitions
  firstTextMs: number | null
  usage: ModelUsage | null
  usageEstimated: boolean
  finishReason: FinishReason | null
  /** What of the answer was not read. */
  skipped: Skipped[]
  text: string | null
  toolCalls: ToolCall[]
  error: TracedError | null
}

type ToolCallFields = {
  step: number
  part: number
  name: string
  arguments: string
  result: string | null
  /**
   * `not_made`: the call was refused, and the result says why. `interrupted`: it has started, and no end is known. `running`: the same while
   * the turn runs.
   */
  status: 'answered' | 'error' | 'not_made' | 'interrupted' | 'running'
  /** What of the call is in the journal. */
  journal: 'none' | 'started' | 'finished'
  /** What the call costs. Null until it has finished. */
  price: Amount | null
}

export type TracedRun = {
  run: number
  /** Attempts of the run. */
  attempts: number
  state: AttemptEnd
  causeKind: CauseKind | null
  cause: string | null
  /** When the attempt that `trace` describes started, in milliseconds after the admission of the turn. */
  startMs: number | null
  /** Undefined if no trace is stored. */
  trace: Trace | undefined
  /** The journal of the run and of those that it continues, in order. */
  journal: TurnStep[]
  /** Of a run with a reply. */
  reply: string | null
  charged: Amount
  /** How the charge was computed. Null for a run without one. */
  charge: ExplainedCharge | null
  /** The newest messages before the run, oldest first: at least as many as a model call was sent. */
  history: HistoryMessage[]
}

export type RunContext = {
  /** By the store's clock. */
  admittedAt: number
  message: string
  config: AgentConfig
  provider: string
  modelId: string
  definitions: Definitions
}

export function spansOf(run: TracedRun, context: RunContext): Span[] {
  return [...spansOfJournal(run, context), ...spansOfTrace(run, context)]
}

/** The attempts that died, and what is known of them: their part of the journal. */
function spansOfJournal({ run, attempts, state, trace, journal }: TracedRun, context: RunContext): Span[] {
  const { admittedAt } = context
  const died = trace ? trace.attempt - 1 : state === 'process_died' ? attempts : attempts - 1
  const unknown = { startMs: null, durationMs: null }
  const spans = Array.from({ length: died }, (_, index): Span => ({
    type: 'attempt',
    run,
    attempt: index + 1,
    ...unknown,
    end: 'process_died',
    causeKind: null,
    cause: null,
  }))
  // If several attempts may have written to the journal, it does not say which of them did.
  const writers = trace ? died : attempts
  const attempt = writers === 1 ? 1 : null
  const traced = new Set(trace?.modelCalls.map(({ step }) => step))
  for (const step of readJournal(journal)) {
    const entries = journal.filter((entry) => entry.run === run && entry.step === step.step)
    if (!traced.has(step.step) && entries.some(({ kind }) => kind === 'model'))
      spans.push({ type: 'model_call', run, attempt, ...unknown, ...answerOfJournal(step, context) })
    for (const [index, call] of step.toolCalls.entries()) {
      const part = index + 1
      if (trace?.toolCalls.some((one) => one.step === step.step && one.part === part)) continue
      const finished = entries.find((entry) => entry.kind === 'tool_finished' && entry.part === part)
      const started = entries.find((entry) => entry.kind === 'tool_started' && entry.part === part)
      const known = finished ?? started
      if (!known) continue
      const ms = finished && (call.result?.ms ?? 0)
      // A call that was refused takes no time, and has no start in the journal. Without its trace, a fast failure looks the same.
      const isRefused = call.result?.isError === true && ms === 0 && !started
      const status = isRefused ? 'not_made' : statusOf(call.result, state)
      const inTraced = traced.has(step.step) && trace !== undefined
      spans.push({
        type: 'tool_call',
        run,
        attempt: inTraced ? trace.attempt : attempt,
        recorded: 'journal',
        startMs: known.createdAt - admittedAt - (ms ?? 0),
        durationMs: ms ?? null,
        step: step.step,
        part,
        name: call.name,
        arguments: call.arguments,
        result: call.result?.text ?? null,
        status,
        journal: finished ? 'finished' : 'started',
        price: priceOf(call.result),
      })
    }
  }
  return spans
}

const answerOfJournal = (step: Step, context: RunContext): ModelCallFields & { recorded: 'journal' } => ({
  recorded: 'journal',
  step: step.step,
  number: null,
  ...parametersOf(context),
  messages: null,
  firstTextMs: null,
  usage: step.usage,
  usageEstimated: step.usageEstimated,
  finishReason: null,
  skipped: [],
  text: step.text,
  toolCalls: step.toolCalls.map(withoutResult),
  error: null,
})

/** The attempt that ended the run, or that runs. */
function spansOfTrace(traced: TracedRun, context: RunContext): Span[] {
  const { run, attempts, state, causeKind, cause, startMs: origin, trace, journal, charged, charge } = traced
  const end = { end: state, causeKind, cause }
  if (!trace)
    return state === 'process_died' ? [] : [{ type: 'attempt', run, attempt: attempts, startMs: origin, durationMs: null, ...end }]
  const { attempt, retrieval } = trace
  const at = (ms: number): number | null => (origin === null ? null : origin + ms)
  const own = { run, attempt }
  const spans: Span[] = [{ type: 'attempt', ...own, startMs: origin, durationMs: trace.endMs, ...end }]
  if (attempt === 1) spans.push({ type: 'admission', ...own, startMs: at(-trace.waitMs), durationMs: trace.waitMs, held: trace.firstHold })
  if (retrieval) {
    const { startMs, ms, passages } = retrieval
    spans.push({ type: 'retrieval', ...own, startMs: at(startMs), durationMs: ms, query: context.message, passages })
  }
  const steps = readJournal(journal)
  const calls = [
    ...trace.modelCalls.map((call) => ({
      startMs: call.startMs,
      span: { type: 'model_call', ...own, startMs: at(call.startMs), durationMs: call.ms, ...modelFields(call, traced, context) } as const,
    })),
    ...trace.toolCalls.flatMap((call) => {
      const asked = steps.find(({ step }) => step === call.step)?.toolCalls[call.part - 1] ?? askedInTrace(trace, call)
      if (!asked) return []
      const fields = toolFields(call, asked, traced)
      return [
        { startMs: call.startMs, span: { type: 'tool_call', ...own, startMs: at(call.startMs), durationMs: call.ms, ...fields } as const },
      ]
    }),
  ]
  spans.push(...calls.toSorted((one, other) => one.startMs - other.startMs).map(({ span }) => span))
  if (state !== 'running')
    spans.push({
      type: 'settlement',
      ...own,
      startMs: at(trace.endMs),
      durationMs: null,
      charged,
      released: trace.lastHold - charged,
      charge,
    })
  return spans
}

function modelFields(call: TracedModelCall, traced: TracedRun, context: RunContext): ModelCallFields & { recorded: 'trace' } {
  const { step, number, firstTextMs, historyMessages, answer, error } = call
  const { journal, reply, history, trace } = traced
  const before = journal.filter((entry) => entry.step < step)
  const entry = answer ? readJournal(journal.filter((one) => one.step === step))[0] : undefined
  const isEndOfReply = reply !== null && call === trace!.modelCalls.at(-1)
  const passages = trace!.retrieval?.passages.filter(({ used }) => used) ?? []
  const parts = { systemPrompt: context.config.systemPrompt, passages, message: context.message, journal: before }
  return {
    recorded: 'trace',
    step,
    number,
    ...parametersOf(context),
    messages: trace!.cut ? null : rebuildPrompt({ ...parts, history: historyMessages === 0 ? [] : history.slice(-historyMessages) }),
    firstTextMs,
    usage: answer?.usage ?? null,
    usageEstimated: answer?.usageEstimated ?? false,
    finishReason: answer?.finishReason ?? null,
    skipped: call.skipped,
    text: call.text ?? entry?.text ?? (isEndOfReply ? lastTextOf(reply, before) : null),
    toolCalls: call.asked ?? entry?.toolCalls.map(withoutResult) ?? [],
    error,
  }
}

function toolFields(call: TracedToolCall, asked: StepCall, { journal, state }: TracedRun): ToolCallFields & { recorded: 'trace' } {
  const { step, part, result: unstored } = call
  const kinds = journal.filter((entry) => entry.step === step && entry.part === part).map(({ kind }) => kind)
  const result = unstored ?? asked.result
  return {
    recorded: 'trace',
    step,
    part,
    name: asked.name,
    arguments: asked.arguments,
    result: result?.text ?? null,
    status: statusOf(result, state),
    journal: kinds.includes('tool_finished') ? 'finished' : kinds.includes('tool_started') ? 'started' : 'none',
    price: priceOf(asked.result),
  }
}

const priceOf = (result: StepCall['result']): Amount | null => (result ? BigInt(result.price ?? 0) : null)

function statusOf(result: { isError: boolean } | undefined, state: AttemptEnd): ToolCallFields['status'] {
  if (result) return result.isError ? 'error' : 'answered'
  return state === 'running' ? 'running' : 'interrupted'
}

/** What the model asked for, if its answer is not in the journal. */
const askedInTrace = ({ modelCalls }: Trace, { step, part }: TracedToolCall): StepCall | undefined =>
  modelCalls.findLast((call) => call.step === step && call.asked !== null)?.asked?.[part - 1]

const withoutResult = ({ id, name, arguments: given }: StepCall): ToolCall => ({ id, name, arguments: given })

const parametersOf = ({ provider, modelId, config, definitions }: RunContext) => ({
  provider,
  model: modelId,
  temperature: config.temperature,
  maxOutputTokens: config.maxOutputTokens,
  tools: definitions,
})
