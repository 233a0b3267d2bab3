/**
 * Reads the parts of a `doStream` into a `ModelStep`. Owns what leaves (text alone) and when an answer is whole: only with a finish that the
 * provider gave a reason for, and without any error part, since one bad event may be followed by an orderly end.
 */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { ModelError } from '../model.ts'
import type { FinishReason, ModelStep, ModelUsage, ToolCall } from '../model.ts'
import { largestAnswer } from './chat-answer.ts'
import { isObject } from './fields.ts'
import { operatorText } from './operator-text.ts'
import { isCount } from './usage-count.ts'

export type PartsAnswerOptions = {
  onText: (text: string) => void
  /** Called at each sign that the model is at work. */
  onSpeaking: () => void
  /** The API key: never shown, even where the provider's error repeats it. */
  secret: string
}

export class PartsAnswer {
  readonly #options: PartsAnswerOptions
  #size = 0
  #text = ''
  /** By id, in the order in which they began; one whose end never came keeps its unfinished arguments. */
  readonly #toolCalls = new Map<string, ToolCall>()
  #finish: { reason: LanguageModelV4FinishReason; usage: LanguageModelV4Usage } | undefined

  constructor(options: PartsAnswerOptions) {
    this.#options = options
  }

  /** Throws ModelError `unavailable` for an error part and for an answer that is too large. */
  read(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        if (part.delta.length === 0) return
        this.#options.onSpeaking()
        this.#grow(part.delta.length)
        this.#text += part.delta
        return this.#options.onText(part.delta)
      case 'reasoning-start':
      case 'reasoning-delta':
        return this.#options.onSpeaking()
      case 'tool-input-start':
        return this.#keepCall({ id: part.id, name: part.toolName, arguments: '' })
      case 'tool-input-delta':
        return this.#extendCall(part.id, part.delta)
      case 'tool-call':
        return this.#keepCall({ id: part.toolCallId, name: part.toolName, arguments: part.input })
      case 'finish':
        this.#finish = { reason: part.finishReason, usage: part.usage }
        return
      case 'error':
        throw new ModelError('unavailable', `the model's server failed: ${operatorText(wordsOf(part.error), this.#options.secret)}`)
      default:
      // metadata, citations, files: nothing that leaves
    }
  }

  /** The answer, once the stream ended in good order. Throws ModelError `unavailable` where the provider did not say that it is whole. */
  step(): ModelStep {
    const finishReason = this.#finish && readFinish(this.#finish.reason)
    if (!this.#finish || !finishReason) throw new ModelError('unavailable', "the model's stream ended before its finish")
    const toolCalls = [...this.#toolCalls.values()]
    return {
      text: this.#text,
      toolCalls,
      finishReason: finishReason === 'stop' && toolCalls.length > 0 ? 'tool_calls' : finishReason,
      usage: readUsage(this.#finish.usage),
    }
  }

  #keepCall(call: ToolCall): void {
    this.#options.onSpeaking()
    this.#grow(call.id.length + call.name.length + call.arguments.length)
    this.#toolCalls.set(call.id, call)
  }

  #extendCall(id: string, delta: string): void {
    this.#grow(delta.length)
    const call = this.#toolCalls.get(id)
    if (call) call.arguments += delta
  }

  #grow(size: number): void {
    this.#size += size
    if (this.#size > largestAnswer) throw new ModelError('unavailable', `the model's answer is larger than ${largestAnswer} characters`)
  }
}

/** Undefined where the stream was cut: the packages then say `interrupted`, `error`, or `other` without the provider's own reason. */
function readFinish({ unified, raw }: LanguageModelV4FinishReason): FinishReason | undefined {
  switch (unified) {
    case 'stop':
    case 'length':
      return unified
    case 'tool-calls':
      return 'tool_calls'
    case 'content-filter':
      return 'other'
    case 'other':
      return raw === undefined ? undefined : 'other'
    case 'interrupted':
    case 'error':
      return undefined
  }
}

/** The totals hold cached and reasoning tokens. Undefined as for any provider: missing, no counts, or two zeros (`billing.usage-missing`). */
function readUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): ModelUsage | undefined {
  const { total: promptTokens } = inputTokens
  const { total: completionTokens } = outputTokens
  if (!isCount(promptTokens) || !isCount(completionTokens) || promptTokens + completionTokens === 0) return undefined
  return { promptTokens, completionTokens }
}

/** The words of a package's error; those of its parsers quote the answer, which belongs in no log. */
export function wordsOf(error: unknown): string {
  if (!isObject(error) && !(error instanceof Error)) return String(error)
  const { name, message } = error
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return 'an event that is not understood'
  return typeof message === 'string' ? message : JSON.stringify(error)
}
