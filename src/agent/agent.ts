/**
 * What speaks: the loop model → tools → model for one turn, on the turn's snapshot of its agent. Knows nothing of money or HTTP: before each
 * further round the turn is asked, which journals the finished step and extends its hold. Specification section 1; rulings `turn.states`.
 */
import type { Logger } from 'pino'
import type { HistoryMessage, JournalEntry, Store } from '../store/store.ts'
import type { Sealer } from '../secrets.ts'
import type { Metrics } from '../metrics.ts'
import { createVersions } from './agent-versions.ts'
import { TextCleaner } from './clean-text.ts'
import { countedModel } from './counted-model.ts'
import { readJournal, writeStep } from './journal.ts'
import type { FinishedStep } from './journal.ts'
import type { Knowledge } from './knowledge.ts'
import { ModelError } from './model.ts'
import type { ModelRequest, ModelStep, ModelUsage, PromptMessage } from './model.ts'
import type { Models } from './models.ts'
import { buildPrompt, knowledgeBudget } from './prompt.ts'
import { generateWithRetries } from './retry.ts'
import { estimatedTokens, tokenBound } from './tokens.ts'

export type Speech = {
  requestId: string
  agentId: string
  agentVersion: number
  message: string
  history: HistoryMessage[]
  /** Finished steps of this run: continued from, neither paid nor done again. */
  journal: JournalEntry[]
  signal: AbortSignal
  /** Called for each piece of the reply, clean; the pieces add up to the reply's text. */
  onDelta(delta: string): void
  /** Called before every model call but a run's first; false stops the speech. */
  beforeStep(next: NextStep): Promise<boolean>
}

export type NextStep = {
  /** The step just finished. */
  entries: JournalEntry[]
  usageSoFar: ModelUsage
  /** An upper bound of the next call's prompt and its cap of output, in tokens. */
  promptTokens: number
  maxOutputTokens: number
}

export type Spoken =
  | { kind: 'reply'; text: string; usage: ModelUsage; usageEstimated: boolean }
  /** The model's side or its network failed, after retries where they were allowed. */
  | { kind: 'unavailable'; cause: string }
  /** The model's side refuses the request itself. */
  | { kind: 'refused'; cause: string }
  /** A reply that cannot be used: final. */
  | { kind: 'unusable'; cause: string }
  /** Stopped by the signal or by `beforeStep`. */
  | { kind: 'stopped' }

export interface Agents {
  /** Never rejects for what a model does; rejects with StoreUnavailable, or for a fault of ours. */
  speak(speech: Speech): Promise<Spoken>
}

export type AgentsOptions = { store: Store; sealer: Sealer; models: Models; knowledge: Knowledge; log: Logger; metrics: Metrics }

export function createAgents({ store, sealer, models, knowledge, log, metrics }: AgentsOptions): Agents {
  const versions = createVersions({ store, sealer, models })

  return {
    async speak(speech) {
      const opened = await versions.open(speech.agentId, speech.agentVersion)
      if (opened.kind === 'refused') return opened
      const { config, model, modelId } = opened
      const passages = await knowledge.search({
        agentId: speech.agentId,
        query: speech.message,
        limit: config.knowledge.topK,
        maxTokens: knowledgeBudget(config.knowledge.maxTokens),
      })
      const prompt = buildPrompt({ systemPrompt: config.systemPrompt, passages, history: speech.history, message: speech.message })
      const run = new Run(readJournal(speech.journal))
      const { maxOutputTokens, temperature } = config

      while (run.nextStep <= config.maxSteps) {
        const request: ModelRequest = {
          modelId,
          messages: [...prompt, ...run.messages()],
          tools: [],
          maxOutputTokens,
          temperature,
          passages,
        }
        const step = await callModel(request)
        if ('kind' in step) return step
        const finished = run.finish(step, request.messages)
        if (finished.toolCalls.length === 0) {
          if (run.text.length > 0) return { kind: 'reply', text: run.text, usage: run.usage, usageEstimated: run.usageEstimated }
          if (run.emptyReplies > 1) return { kind: 'unusable', cause: 'the model answered without text, twice' }
        } else if (step.finishReason !== 'tool_calls') {
          return { kind: 'unusable', cause: `the model ended with an unfinished tool call (${step.finishReason})` }
        }
        const promptTokens = promptBound([...prompt, ...run.messages()])
        const go = await speech.beforeStep({ entries: writeStep(finished), usageSoFar: run.usage, promptTokens, maxOutputTokens })
        if (!go) return { kind: 'stopped' }
      }
      return { kind: 'unusable', cause: `no reply within ${config.maxSteps} steps` }

      async function callModel(request: ModelRequest): Promise<ModelStep | Spoken> {
        let cleaner = new TextCleaner()
        const emit = (text: string): void => {
          if (text.length > 0) speech.onDelta(run.append(text))
        }
        try {
          const step = await generateWithRetries(countedModel(model, metrics), request, {
            signal: speech.signal,
            onText: (text) => emit(cleaner.push(text)),
            // `stream.after-delta`: once a piece of the turn has left, nothing is generated again
            mayRetry: () => run.text.length === 0,
            onRetry() {
              metrics.modelRetried()
              cleaner = new TextCleaner()
            },
          })
          emit(cleaner.end())
          return step
        } catch (error) {
          if (speech.signal.aborted) return { kind: 'stopped' }
          if (!(error instanceof ModelError)) throw error
          // A provider may repeat the prompt in its error: its words stand in the turn's record, and in the log only for who asks for them.
          log.warn({ request_id: speech.requestId, model: config.model, outcome: error.kind }, 'the model call failed')
          log.debug({ request_id: speech.requestId, cause: error.message }, 'what the model server said')
          return { kind: error.kind, cause: error.message }
        }
      }
    },
  }
}

/** What has been said so far in this run, the journalled steps included. */
class Run {
  readonly #steps: FinishedStep[]
  text = ''
  #stepText = ''

  constructor(steps: FinishedStep[]) {
    this.#steps = steps
    this.text = steps
      .map((step) => step.text)
      .filter((text) => text.length > 0)
      .join(betweenSteps)
  }

  get nextStep(): number {
    return this.#steps.length + 1
  }

  get usage(): ModelUsage {
    const sum = (of: (step: FinishedStep) => number): number => this.#steps.reduce((total, step) => total + of(step), 0)
    return { promptTokens: sum((step) => step.usage.promptTokens), completionTokens: sum((step) => step.usage.completionTokens) }
  }

  get usageEstimated(): boolean {
    return this.#steps.some((step) => step.usageEstimated)
  }

  get emptyReplies(): number {
    return this.#steps.filter((step) => step.toolCalls.length === 0 && step.text.length === 0).length
  }

  /** Adds a piece of text; answers the delta that leaves, which carries a paragraph break where a further step begins to speak. */
  append(text: string): string {
    const delta = this.#stepText.length === 0 && this.text.length > 0 ? betweenSteps + text : text
    this.#stepText += text
    this.text += delta
    return delta
  }

  finish(step: ModelStep, prompt: PromptMessage[]): FinishedStep {
    const text = this.#stepText
    this.#stepText = ''
    const estimated = {
      promptTokens: prompt.reduce((total, message) => total + estimatedTokens(message.content), 0),
      completionTokens: estimatedTokens(text) + estimatedTokens(step.toolCalls.map((call) => call.arguments).join('')),
    }
    const finished: FinishedStep = {
      step: this.nextStep,
      text,
      toolCalls: step.toolCalls.map((call) => ({ ...call, result: unknownTool(call.name) })),
      usage: step.usage ?? estimated,
      usageEstimated: step.usage === undefined,
    }
    this.#steps.push(finished)
    return finished
  }

  messages(): PromptMessage[] {
    return this.#steps.flatMap(({ text, toolCalls }): PromptMessage[] => {
      if (toolCalls.length === 0) return []
      const results = toolCalls.map((call): PromptMessage => ({ role: 'tool', toolCallId: call.id, content: call.result }))
      return [
        { role: 'assistant', content: text, toolCalls: toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })) },
        ...results,
      ]
    })
  }
}

const betweenSteps = '\n\n'

const unknownTool = (name: string): string => `Error: there is no tool named ${JSON.stringify(name.slice(0, 64))}. Answer without it.`

// Each message costs its provider a few tokens for role and separators; 8 covers the known chat templates.
const promptBound = (messages: PromptMessage[]): number =>
  messages.reduce((total, message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    return total + 8 + tokenBound(message.content) + calls.reduce((sum, call) => sum + tokenBound(call.name + call.arguments), 0)
  }, 0)
