/**
 * What speaks: the loop model → tools → model for one turn, on the turn's snapshot of its agent. Knows nothing of money or HTTP: before each
 * further round the turn is asked, which journals the finished step and extends its hold. Specification section 1; rulings `turn.states`.
 */
import type { Logger } from 'pino'
import type { Failpoints } from '../failpoints.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sealer } from '../config/secrets.ts'
import type { Citation, HistoryMessage, JournalEntry } from '../store/turn-records.ts'
import type { Store } from '../store/store.ts'
import { createVersions } from './agent-versions.ts'
import { TextCleaner } from './clean-text.ts'
import { countedModel } from './models/counted-model.ts'
import { droppableModel } from './models/droppable-model.ts'
import type { Knowledge } from './knowledge/knowledge.ts'
import { ModelError } from './models/model.ts'
import type { ModelStep, ModelUsage, Passage, PromptMessage } from './models/model.ts'
import type { Models } from './models/models.ts'
import { buildPrompt, knowledgeBudget, newerHalf } from './prompt.ts'
import { generateWithRetries } from './models/retry.ts'
import { boundOf, Steps } from './steps.ts'
import type { Asked } from './steps.ts'
import { finishCalls } from './tools/tool-calls.ts'
import { toolTokens } from './tools/tools.ts'
import type { Tools } from './tools/tools.ts'

export type GenerationRequest = {
  requestId: string
  agentId: string
  agentVersion: number
  message: string
  history: HistoryMessage[]
  /** What this run, and those it continues, have done: gone on from, neither paid nor done again. */
  journal: JournalEntry[]
  /** Steps that were numbered by runs that this one does not continue. */
  stepsBefore: number
  signal: AbortSignal
  /** Called for each piece of the reply, clean; the pieces add up to the reply's text. */
  onDelta(delta: string): void
  /** Called before every model call but a turn's first; false stops the request. */
  beforeStep(next: NextStep): Promise<boolean>
  /** Makes entries durable within a step. `finishedSideEffects`: a finished call that may have changed something is among them. False stops the request. */
  writeJournal(entries: JournalEntry[], finishedSideEffects: boolean): Promise<boolean>
}

export type NextStep = {
  /** What of the step just finished is not journalled yet. */
  entries: JournalEntry[]
  usageSoFar: ModelUsage
  /** What those steps were allowed to use, whatever their provider says that they did. */
  boundSoFar: ModelUsage
  /** What the next step may use: its prompt, tools included, and its cap of output. */
  bound: ModelUsage
}

export type GenerationResult =
  | { kind: 'reply'; text: string; usage: ModelUsage; usageEstimated: boolean; citations: Citation[] }
  /** The model's side or its network failed, after retries where they were allowed. */
  | { kind: 'unavailable'; cause: string; logCause?: string }
  /** The model's side refuses the request itself. `logCause`: the cause without text from the provider, if it differs. */
  | { kind: 'refused'; cause: string; logCause?: string }
  /** A reply that cannot be used: final. */
  | { kind: 'unusable'; cause: string }
  /** Stopped by the signal, by `beforeStep` or by `writeJournal`. */
  | { kind: 'stopped' }

export interface Agents {
  /** Never rejects for what a model or a tool does; rejects with StoreUnavailable, or for a fault of ours. */
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
      try {
        return await generate(request)
      } catch (error) {
        if (request.signal.aborted && error === request.signal.reason) return { kind: 'stopped' }
        throw error
      }
    },
  }

  async function generate(request: GenerationRequest): Promise<GenerationResult> {
    const { requestId, agentId, message, signal } = request
    const opened = await versions.open(agentId, request.agentVersion)
    if (opened.kind === 'refused') return opened
    const { config, model, modelId } = opened
    const { maxOutputTokens, temperature, maxSteps, maxToolCalls, systemPrompt } = config
    const { topK, maxTokens, language, embeddingModel } = config.knowledge
    const query = { agentId, query: message, limit: topK, maxTokens: knowledgeBudget(maxTokens), language, embeddingModel, signal }
    const passages = await knowledge.search(query)
    const toolbox = tools.open({ agentId, tools: config.tools, knowledge: config.knowledge })

    const steps = new Steps(request.journal, request.stepsBefore)
    let { history } = request
    const prompt = (): PromptMessage[] => [...buildPrompt({ systemPrompt, passages, history, message }), ...steps.messages()]
    const asked = (): Asked => ({ prompt: prompt(), toolTokens: toolTokens(toolbox.definitions), maxOutputTokens })
    const calls = { ...request, toolbox, maxToolCalls, failpoints, log }
    /** Said before this attempt: whoever listens now has not heard it. */
    let unheard = steps.text

    for (;;) {
      // `tools.caps`; no tool is called whose answer no model would read.
      if (steps.count >= maxSteps) return { kind: 'unusable', cause: `the agent reached its limit of ${maxSteps} steps without a reply` }
      if (steps.last) {
        const end = await finishCalls(steps.last, steps.callsBefore(steps.last), calls)
        if (end.kind === 'stopped') return end
        const next = { entries: end.entries, usageSoFar: steps.usage, boundSoFar: steps.bound, bound: boundOf(asked()) }
        if (!(await request.beforeStep(next))) return { kind: 'stopped' }
      }
      if (unheard !== '') request.onDelta(unheard)
      unheard = ''

      const answer = await askModel()
      if ('kind' in answer) return answer
      const step = steps.add(answer, asked())
      if (step.toolCalls.length > 0) {
        if (answer.finishReason === 'tool_calls') continue
        return { kind: 'unusable', cause: `the model stopped in the middle of a tool call (${answer.finishReason})` }
      }
      if (step.text.length > 0) {
        const citations = cited(passages, steps.citations)
        return { kind: 'reply', text: steps.text, usage: steps.usage, usageEstimated: steps.usageEstimated, citations }
      }
      if (steps.emptyAnswers > 1) return { kind: 'unusable', cause: 'the model returned an empty reply twice' }
    }

    /** One answer, with as much of the history as the model takes. */
    async function askModel(): Promise<ModelStep | GenerationResult> {
      for (;;) {
        const saidBefore = steps.text.length
        try {
          return await callModel()
        } catch (error) {
          if (!(error instanceof ModelError)) throw error
          // `history.fits`
          if (error.kind === 'too_long' && history.length > 0 && steps.text.length === saidBefore) {
            history = newerHalf(history)
            log.info({ request_id: requestId, messages: history.length }, 'prompt too long for the model, retrying with less history')
            continue
          }
          // A provider may repeat the prompt in its error. The turn's record keeps that text; the log has it only at level debug.
          log.warn({ request_id: requestId, model: config.model, outcome: error.kind, cause: error.ownMessage }, 'model call failed')
          log.debug({ request_id: requestId, cause: error.message }, 'model call failed, with the text of the provider')
          return { kind: error.kind === 'unavailable' ? 'unavailable' : 'refused', cause: error.message, logCause: error.ownMessage }
        }
      }
    }

    /** One answer, its text cleaned and told as it comes. */
    async function callModel(): Promise<ModelStep> {
      let cleaner = new TextCleaner()
      const emit = (text: string): void => {
        if (text.length > 0) request.onDelta(steps.append(text))
      }
      const modelRequest = { modelId, messages: prompt(), tools: toolbox.definitions, maxOutputTokens, temperature, passages }
      const answer = await generateWithRetries(countedModel(droppableModel(model, failpoints, message), metrics), modelRequest, {
        signal,
        onText: (text) => emit(cleaner.push(text)),
        // `stream.after-delta`: once a piece of the turn has left, nothing is generated again
        mayRetry: () => steps.text.length === 0,
        onRetry() {
          metrics.modelRetried()
          cleaner = new TextCleaner()
        },
      })
      emit(cleaner.end())
      return answer
    }
  }
}

/** `tools.citations`: every document and section once, those that were put into the prompt, then those that a tool found. */
function cited(passages: Passage[], found: Citation[]): Citation[] {
  const once = new Map<string, Citation>()
  for (const { documentId, title, section } of [...passages, ...found]) {
    const key = `${documentId} ${section}`
    if (!once.has(key)) once.set(key, { documentId, title, section })
  }
  return [...once.values()]
}
