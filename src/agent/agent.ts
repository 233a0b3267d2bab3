/**
 * Runs the loop of model calls and tool calls for one turn, on the agent version that the turn was admitted with. It knows nothing about
 * money or HTTP: before each further step it calls `beforeStep`, which journals the finished step and extends the hold. What the loop
 * returns decides the state in which the turn ends (`turn.states`).
 */
import type { Logger } from 'pino'
import type { CauseKind } from '../cause-kinds.ts'
import type { Failpoints } from '../failpoints.ts'
import type { ReplyFinishReason } from '../finish-reason.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sealer } from '../config/secrets.ts'
import type { HistoryMessage, JournalEntry } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import type { AgentConfig } from './agent-config.ts'
import { createVersions } from './agent-versions.ts'
import { boundOf } from './call-usage.ts'
import type { Asked } from './call-usage.ts'
import { TextCleaner } from './clean-text.ts'
import { maxAnswerCalls } from './models/answer-limit.ts'
import { countedModel } from './models/counted-model.ts'
import { droppableModel } from './models/droppable-model.ts'
import type { Knowledge } from './knowledge/knowledge.ts'
import { ModelError } from './models/model.ts'
import type { FinishReason, ModelStep, ModelUsage, Passage, PromptMessage } from './models/model.ts'
import type { Models } from './models/models.ts'
import { buildPrompt, knowledgeBudget, newerHalf } from './prompt.ts'
import { generateWithRetries } from './models/retry.ts'
import type { UsageBound } from './journal.ts'
import { Steps } from './steps.ts'
import type { Generated } from './steps.ts'
import { finishCalls } from './tools/tool-calls.ts'
import type { TraceRecorder } from './trace-recorder.ts'
import { toolTokens } from './tools/tools.ts'
import type { Tools } from './tools/tools.ts'

export type GenerationRequest = {
  requestId: string
  agentId: string
  agentVersion: number
  message: string
  history: HistoryMessage[]
  /**
   * What this run, and the earlier runs that it continues, have done already. The loop goes on after it; nothing in it is paid or done
   * again.
   */
  journal: JournalEntry[]
  /** Highest step number of earlier runs that this run does not continue, or 0. */
  stepsBefore: number
  /** `trace.context`: passed on to tools and model servers. */
  traceparent?: string | null
  /** A rerun or a preview of the operator (`rerun.harmless`), with this configuration in place of that of the version. Absent for turns. */
  unstored?: { changes: Partial<AgentConfig> }
  /** `trace.stored`: records what happens. Undefined if traces are off. */
  trace?: TraceRecorder | undefined
  signal: AbortSignal
  /** Called with each cleaned piece of the reply. The pieces add up to the text of the reply. */
  onDelta(delta: string): void
  /** Called if text that was passed on was reasoning. The reply starts again with `text`, and the next pieces follow it. */
  onReset(text: string): void
  /**
   * Called with the usage of all steps, even those of the journal, whenever a model call ends, even if it fails after some text, and
   * whenever the tool calls of a step have finished. `toolCallsPrice`: of all of them, in 10⁻⁸ USD.
   */
  onUsage(usage: ModelUsage, toolCallsPrice: number): void
  /** Called before every model call except the first one of a turn. The loop stops if it resolves with false. */
  beforeStep(next: NextStep): Promise<boolean>
  /**
   * `billing.tool-price`: called before the tool calls of a step. Makes the entries durable, and extends the hold to what they may cost, both
   * or neither. `price`: of the calls that are about to be made, in 10⁻⁸ USD. The loop stops if it resolves with false.
   */
  beforeCalls(entries: JournalEntry[], spent: Spent & { callsPrice: number }): Promise<boolean>
  /**
   * Makes journal entries durable in the middle of a step. `finishedSideEffects` says whether a finished call with side effects is among
   * them. The loop stops if it resolves with false.
   */
  writeJournal(entries: JournalEntry[], finishedSideEffects: boolean): Promise<boolean>
}

/** What the steps so far have used. */
export type Spent = {
  usageSoFar: ModelUsage
  /** What the steps so far were allowed to use, whatever usage their provider reported. */
  boundSoFar: UsageBound
  /** Of the finished tool calls, in 10⁻⁸ USD. */
  toolCallsSoFar: number
}

export type NextStep = Spent & {
  /** Entries of the step that just finished which are not in the journal yet. */
  entries: JournalEntry[]
  /** Upper bound for the next step: its prompt including the tool definitions, and its output limit. */
  bound: UsageBound
}

/**
 * Why there is no reply. `cause` is for the operator and may contain the words of a provider; `logCause` is the same without them, and the
 * log contains only that. Without `logCause` there are none.
 */
export type Cause = { cause: string; causeKind: CauseKind; logCause?: string }

export type { Generated }

export type GenerationResult =
  | ({ kind: 'reply'; finishReason: ReplyFinishReason } & Generated)
  /** The provider or the network failed, after retries where retries were allowed. */
  | ({ kind: 'unavailable' } & Cause)
  /** The provider rejected the request, or the provider is missing or cannot be opened. */
  | ({ kind: 'refused' } & Cause)
  /** The model gave no usable reply. The turn fails for good. */
  | ({ kind: 'unusable' } & Cause)
  /** Stopped by the signal, by `beforeStep` or by `writeJournal`, with what had been generated until then. The text may be empty. */
  | ({ kind: 'stopped' } & Generated)

export interface Agents {
  /** Failures of models and tools are results, not rejections. Rejects with StoreUnavailable, or with an internal error. */
  generate(request: GenerationRequest): Promise<GenerationResult>
}

export type AgentsOptions = {
  store: Store
  sealer: Sealer
  models: Models
  knowledge: Knowledge
  tools: Tools
  failpoints: Failpoints
  log: Logger
  metrics: Metrics
}

export function createAgents({ store, sealer, models, knowledge, tools, failpoints, log, metrics }: AgentsOptions): Agents {
  const versions = createVersions({ store, sealer, models })

  return {
    async generate(request) {
      const { signal } = request
      const steps = new Steps(request.journal, request.stepsBefore)
      request.onUsage(steps.usage, steps.toolCallsPrice)
      try {
        signal.throwIfAborted()
        return await generate(request, steps)
      } catch (error) {
        if (signal.aborted && error === signal.reason) return { kind: 'stopped', ...steps.generated }
        throw error
      }
    },
  }

  async function generate(request: GenerationRequest, steps: Steps): Promise<GenerationResult> {
    const { requestId, agentId, message, signal, trace, traceparent = null } = request
    const opened = await versions.open(agentId, request.agentVersion, request.unstored?.changes)
    if (opened.kind === 'refused') return opened
    const { config, model, modelId } = opened
    const { maxOutputTokens, temperature, maxSteps, maxToolCalls, systemPrompt } = config
    const { topK, maxTokens, language, embeddingModel } = config.knowledge
    const query = { agentId, query: message, limit: topK, maxTokens: knowledgeBudget(maxTokens), language, embeddingModel, signal }
    const searched = trace?.searching()
    const left: Passage[] = []
    const passages = (steps.passages = await knowledge.search(trace ? { ...query, onCut: (passage) => void left.push(passage) } : query))
    searched?.(passages, left)
    const toolbox = tools.open({ agentId, tools: config.tools, knowledge: config.knowledge })

    let { history } = request
    const prompt = (): PromptMessage[] => [...buildPrompt({ systemPrompt, passages, history, message }), ...steps.messages()]
    const asked = (): Asked => ({ prompt: prompt(), toolTokens: toolTokens(toolbox.definitions), maxOutputTokens })
    const spent = (): Spent => ({ usageSoFar: steps.usage, boundSoFar: steps.bound, toolCallsSoFar: steps.toolCallsPrice })
    const beforeCalls = (entries: JournalEntry[], callsPrice: number) => request.beforeCalls(entries, { ...spent(), callsPrice })
    const calls = { ...request, beforeCalls, toolbox, maxToolCalls, failpoints, log }
    /** Text of an earlier attempt or run. The listeners of this attempt have not received it yet. */
    let undeliveredText = steps.text

    for (;;) {
      // `tools.caps`: checked before the tools run, because after the last step no model call would read their results.
      if (steps.count >= maxSteps)
        return { kind: 'unusable', cause: `the agent reached its limit of ${maxSteps} steps without a reply`, causeKind: 'step_limit' }
      // `tools.caps`: each call that is not made costs a journal entry and a result in every further prompt.
      if (steps.calls > maxAnswerCalls)
        return { kind: 'unusable', cause: `the model asked for more than ${maxAnswerCalls} tool calls`, causeKind: 'tool_call_limit' }
      if (steps.last) {
        const end = await finishCalls(steps.last, steps.callsBefore(steps.last), calls).finally(() =>
          request.onUsage(steps.usage, steps.toolCallsPrice),
        )
        if (end.kind === 'stopped') return { kind: 'stopped', ...steps.generated }
        const next = { entries: end.entries, ...spent(), bound: boundOf(asked()) }
        if (!(await request.beforeStep(next))) return { kind: 'stopped', ...steps.generated }
        trace?.journaled(end.entries)
      }
      if (undeliveredText !== '') request.onDelta(undeliveredText)
      undeliveredText = ''

      const answer = await askModel()
      if ('kind' in answer) return answer
      const step = steps.add(answer, asked())
      trace?.modelAnswered(step, answer)
      request.onUsage(steps.usage, steps.toolCallsPrice)
      if (answer.usage && step.usageEstimated) warnOfUsage(answer.usage, answer.usageImpossible === true)
      if (step.toolCalls.length > 0) {
        if (answer.finishReason === 'tool_calls') continue
        return {
          kind: 'unusable',
          cause: `the model stopped in the middle of a tool call (${answer.finishReason})`,
          causeKind: 'tool_call_cut_off',
        }
      }
      if (step.text.length > 0) return { kind: 'reply', finishReason: finishOfReply(answer.finishReason), ...steps.generated }
      const unusable = causeOfEmpty(answer.finishReason, steps.emptyAnswers)
      if (unusable) return { kind: 'unusable', ...unusable }
    }

    function warnOfUsage({ promptTokens, completionTokens }: ModelUsage, ofKinds: boolean): void {
      const reported = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
      const what = ofKinds ? 'provider reported impossible token kinds' : 'provider reported more tokens than the call can use'
      log.warn({ request_id: requestId, model: config.model, ...reported }, what)
    }

    /** Calls the model once, with as much of the history as the model accepts. */
    async function askModel(): Promise<ModelStep | GenerationResult> {
      for (;;) {
        const saidBefore = steps.text.length
        try {
          return await callModel()
        } catch (error) {
          trace?.modelFailed(error, { text: steps.stepText, stopped: signal.aborted })
          request.onUsage(steps.endEarly(asked()), steps.toolCallsPrice)
          if (!(error instanceof ModelError)) throw error
          // `history.fits`: retry with half of the history, unless this call already produced text.
          if (error.kind === 'too_long' && history.length > 0 && steps.text.length === saidBefore) {
            history = newerHalf(history)
            log.info({ request_id: requestId, messages: history.length }, 'prompt too long for the model, retrying with less history')
            continue
          }
          // A provider may repeat the prompt in its error message. The message goes into the turn's record, and never into the log.
          const { causeKind, message: cause, ownMessage: logCause } = error
          const about = { request_id: requestId, model: config.model, outcome: error.kind, cause_kind: causeKind, cause: logCause }
          log.warn(about, 'model call failed')
          return { kind: endOf(error), cause, causeKind, logCause }
        }
      }
    }

    /** Calls the model, with retries, and sends its text on as it arrives, cleaned. */
    async function callModel(): Promise<ModelStep> {
      let cleaner = new TextCleaner()
      const emit = (text: string): void => {
        if (text.length > 0) request.onDelta(steps.append(text))
      }
      trace?.callingModel(steps.next, history.length)
      const modelRequest = { modelId, messages: prompt(), tools: toolbox.definitions, maxOutputTokens, temperature, passages }
      const answer = await generateWithRetries(countedModel(droppableModel(model, failpoints, message), metrics), modelRequest, {
        signal,
        traceparent,
        onText(text) {
          trace?.textArrived()
          emit(cleaner.push(text))
        },
        onReset() {
          cleaner = new TextCleaner()
          request.onReset(steps.discardText())
        },
        onGenerated: (bytes) => steps.noteGenerated(bytes),
        onReports: (soFar) => steps.readReports(soFar),
        // `stream.after-delta`: once any text of the turn was sent, the answer is not generated again.
        mayRetry: () => !steps.hasSaid,
        onRetry(error, waitMs) {
          metrics.modelRetried()
          trace?.modelFailed(error)
          trace?.callingModel(steps.next, history.length, waitMs)
          cleaner = new TextCleaner()
          steps.failAttempt()
        },
      })
      emit(cleaner.end())
      return answer
    }
  }
}

/** A filter would withhold the answer again, so a retry of the message gets the same failure. */
function endOf({ kind, causeKind }: ModelError): 'unavailable' | 'refused' | 'unusable' {
  if (kind === 'unavailable') return 'unavailable'
  return causeKind === 'filtered' ? 'unusable' : 'refused'
}

/** `turn.finish-reason`: any other end of a complete answer with text is that of a whole reply. */
const finishOfReply = (reason: FinishReason): ReplyFinishReason => (reason === 'tool_calls' || reason === 'other' ? 'stop' : reason)

/**
 * Of an answer without text and without tool calls; undefined if the model is asked again. A refusal and a filter would say the same to the
 * same prompt, and each further call costs as much.
 */
function causeOfEmpty(reason: FinishReason, emptyAnswers: number): Cause | undefined {
  if (reason === 'refused') return { cause: 'the model declined to answer', causeKind: 'refused' }
  if (reason === 'filtered') return { cause: "the provider's content filter withheld the answer", causeKind: 'filtered' }
  if (emptyAnswers < 2) return undefined
  if (reason === 'length') return { cause: 'the model reached its output limit before any text, twice', causeKind: 'reply_cut_off' }
  return { cause: 'the model returned an empty reply twice', causeKind: 'empty_reply' }
}
