/**
 * Reads the parts of a `doStream` into a `ModelStep`. Only text is sent to the caller. An answer is complete only if it has a finish for
 * which the provider gave a reason, and no error part, because a stream can end normally after an invalid event.
 */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { ModelError } from '../model.ts'
import type { FinishReason, ModelStep, ToolCall } from '../model.ts'
import { answerLimit, maxAnswerCalls, maxAnswerParts, tooLong, tooManyCalls, tooManyParts } from '../answer-limit.ts'
import { readReported } from '../reported-usage.ts'
import { isCount, isObject, jsonOf } from '../transport/fields.ts'
import { operatorText } from '../transport/operator-text.ts'
import { PartsContinuation } from './parts-continuation.ts'
import { reportsLength } from '../transport/too-long.ts'

export type PartsAnswerOptions = {
  onText: (text: string) => void
  /** See `ModelCall`. */
  onGenerated?: ((bytes: number) => void) | undefined
  /** Called whenever a part shows that the model is working. */
  onSpeaking: () => void
  /** The API key, which is redacted from errors even if the provider repeats it. */
  secret: string
  /** The requested limit. A much longer answer is rejected; see `answerLimit`. */
  maxOutputTokens: number
  /** The provider's name in the package's metadata, and what its prompt tokens include. */
  provider: { name: string; promptExcludesCache: boolean }
}

// Parts that a provider's package adds by itself, and the end of a tool call.
const uncounted = new Set(['stream-start', 'response-metadata', 'ping', 'raw', 'tool-input-end'])

type StartedCall = ToolCall & { whole: boolean; mark: (metadata: SharedV4ProviderMetadata | undefined) => void }

export class PartsAnswer {
  readonly #options: PartsAnswerOptions
  #size = 0
  /** Citations, files and other parts that are read and not used. */
  #unused = 0
  #text = ''
  /** In the order in which they started. A call without an end keeps its incomplete arguments. Ids may be empty or repeated. */
  readonly #toolCalls: StartedCall[] = []
  readonly #continuation: PartsContinuation
  #finish: { reason: LanguageModelV4FinishReason; usage: LanguageModelV4Usage } | undefined

  constructor(options: PartsAnswerOptions) {
    this.#options = options
    this.#continuation = new PartsContinuation(options.provider.name)
  }

  /** Throws ModelError for an error part (`unavailable` or `too_long`), and for an answer that is too large or has too many parts. */
  read(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
        return this.#continuation.read('text', part.id, '', part.providerMetadata)
      case 'text-delta':
        this.#continuation.read('text', part.id, part.delta, part.providerMetadata)
        return this.#generate(part.delta)
      case 'text-end':
        return this.#continuation.end('text', part.id, part.providerMetadata)
      case 'reasoning-start':
      case 'reasoning-delta':
        this.#continuation.read('reasoning', part.id, part.type === 'reasoning-delta' ? part.delta : '', part.providerMetadata)
        if (part.type === 'reasoning-delta') this.#count(part.delta)
        return this.#options.onSpeaking()
      case 'reasoning-end':
        return this.#continuation.end('reasoning', part.id, part.providerMetadata)
      case 'tool-input-start':
        return this.#beginCall(part.id, part.toolName).mark(part.providerMetadata)
      case 'tool-input-delta':
        return this.#extendCall(part.id, part.delta)
      case 'tool-call':
        return this.#endCall(part.toolCallId, part.toolName, part.input).mark(part.providerMetadata)
      case 'finish':
        this.#finish = { reason: part.finishReason, usage: part.usage }
        return
      case 'error':
        throw failed(part.error, this.#options.secret)
      default:
        // Metadata, citations and files are not part of the reply.
        if (!uncounted.has(part.type) && ++this.#unused > maxAnswerParts) throw tooManyParts()
    }
  }

  /**
   * Returns the answer. Call it after the stream ended normally. Throws ModelError `unavailable` if the provider did not report a finish.
   */
  step(): ModelStep {
    const finishReason = this.#finish && readFinish(this.#finish.reason)
    if (!this.#finish || !finishReason) throw notWhole(this.#finish?.reason.raw, this.#options.secret)
    const toolCalls = this.#toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
    const continuation = toolCalls.length > 0 ? this.#continuation.step() : undefined
    return {
      text: this.#text,
      toolCalls,
      finishReason: finishReason === 'stop' && toolCalls.length > 0 ? 'tool_calls' : finishReason,
      ...readUsage(this.#finish.usage, this.#options.provider.promptExcludesCache),
      ...(continuation === undefined ? {} : { continuation }),
    }
  }

  #generate(delta: string): void {
    if (delta.length === 0) return
    this.#options.onSpeaking()
    this.#grow(delta.length)
    this.#text += delta
    this.#count(delta)
    this.#options.onText(delta)
  }

  #beginCall(id: string, name: string): StartedCall {
    this.#options.onSpeaking()
    if (this.#toolCalls.length === maxAnswerCalls) throw tooManyCalls()
    this.#grow(id.length + name.length)
    this.#count(name)
    const call = { id, name, arguments: '', whole: false, mark: this.#continuation.call() }
    this.#toolCalls.push(call)
    return call
  }

  #extendCall(id: string, delta: string): void {
    this.#grow(delta.length)
    this.#count(delta)
    const call = this.#toolCalls.findLast((one) => one.id === id && !one.whole)
    if (call) call.arguments += delta
  }

  #endCall(id: string, name: string, args: string): StartedCall {
    const started = this.#toolCalls.find((one) => one.id === id && !one.whole)
    // The whole arguments usually repeat the pieces that have been counted.
    const counted = started?.arguments.length ?? 0
    this.#grow(Math.max(0, args.length - counted))
    this.#count(args.slice(counted))
    return Object.assign(started ?? this.#beginCall(id, name), { name, arguments: args, whole: true })
  }

  #count(generated: string): void {
    this.#options.onGenerated?.(Buffer.byteLength(generated))
  }

  #grow(size: number): void {
    this.#size += size
    const limit = answerLimit(this.#options.maxOutputTokens)
    if (this.#size > limit) throw tooLong(limit)
  }
}

/** Interprets an error of a package, for the case that the exchange itself did not fail. */
export function failed(error: unknown, secret: string): ModelError {
  const [kind, causeKind] = reportsLength(error) ? (['too_long', 'prompt_too_long'] as const) : (['unavailable', 'provider_error'] as const)
  return new ModelError(kind, causeKind, 'the model server reported an error', { said: operatorText(wordsOf(error), secret), cause: error })
}

/** `raw` is the provider's own reason, such as Gemini's MALFORMED_FUNCTION_CALL; a retry may succeed. */
const notWhole = (raw: string | undefined, secret: string): ModelError =>
  new ModelError(
    'unavailable',
    'provider_interrupted',
    'the model stream ended before it was complete',
    raw === undefined ? {} : { said: operatorText(raw, secret) },
  )

/**
 * Returns undefined if the stream was truncated: the packages then report `interrupted`, `error`, or `other` without a reason of the
 * provider.
 */
function readFinish({ unified, raw }: LanguageModelV4FinishReason): FinishReason | undefined {
  switch (unified) {
    case 'stop':
    case 'length':
      return unified
    case 'tool-calls':
      return 'tool_calls'
    case 'content-filter':
      // Anthropic's API reports a refusal of the model, which its package counts as a filter.
      return raw === 'refusal' ? 'refused' : 'filtered'
    case 'other':
      return raw === undefined ? undefined : 'other'
    case 'interrupted':
    case 'error':
      return undefined
  }
}

/**
 * `billing.token-kinds`: the packages write every API's counts into one shape. Their total of an API whose prompt tokens exclude its cache is
 * a sum, so a negative part of it would make the prompt cheaper: the prompt is then the sum of the others.
 */
function readUsage({ inputTokens, outputTokens }: LanguageModelV4Usage, promptExcludesCache: boolean): ReturnType<typeof readReported> {
  const { total, noCache, cacheRead, cacheWrite } = inputTokens
  const parts = [noCache, cacheRead, cacheWrite]
  return readReported({
    promptTokens: promptExcludesCache && isCount(noCache) ? parts.filter(isCount).reduce((sum, part) => sum + part, 0) : total,
    cachedPromptTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    completionTokens: outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
  })
}

/** Returns the message of a package's error, except for parser errors, which quote the answer and must not be logged. */
function wordsOf(error: unknown): string {
  if (!isObject(error) && !(error instanceof Error)) return String(error)
  const { name, message } = error
  if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return 'an event that is not understood'
  return typeof message === 'string' ? message : (jsonOf(error) ?? '')
}
