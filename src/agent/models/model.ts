/**
 * The interface of a language model: one streamed call. It knows nothing about turns, money or HTTP. Every provider is a `Model`. The
 * caller is responsible for retries and for the deadline of the turn, the model for the deadlines of one call.
 */
import type { CauseKind } from '../../cause-kinds.ts'
import type { ReplyFinishReason } from '../../finish-reason.ts'

export type ToolCall = { id: string; name: string; arguments: string }

export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  /** `continuation` is that of the step in which the model gave this answer. */
  | { role: 'assistant'; content: string; toolCalls?: ToolCall[]; continuation?: unknown }
  | { role: 'tool'; toolCallId: string; content: string }

export type ToolDefinition = { name: string; description: string; parameters: unknown }

/**
 * A passage from the knowledge base. Passages are ordered best first. They are already part of the system message; the demo model quotes
 * them. `section` is the path of headings above it, such as `Returns › Deadlines`, or an empty string.
 */
export type Passage = { documentId: string; title: string; section: string; text: string; score: number }

export type ModelRequest = {
  /** The provider's name for the model. */
  modelId: string
  messages: PromptMessage[]
  tools: ToolDefinition[]
  maxOutputTokens: number
  temperature: number | null
  passages: Passage[]
}

/**
 * `billing.token-kinds`: token counts, the same for all providers. `promptTokens` are all tokens of the prompt, those that the provider read
 * from its cache and wrote to it included. `completionTokens` are all generated tokens, reasoning included.
 */
export type ModelUsage = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  completionTokens: number
  reasoningTokens: number
}

/**
 * What a provider has reported about one call so far. A total that it has not reported is undefined. `countedBytes`: how many of the bytes
 * that the model generated are in `completionTokens`. `isImpossible`: kinds were reported that are impossible, and they are zero here.
 */
export type UsageSoFar = Omit<ModelUsage, 'promptTokens' | 'completionTokens'> & {
  promptTokens: number | undefined
  completionTokens: number | undefined
  countedBytes: number
  isImpossible: boolean
}

/**
 * `refused`: the model declined to answer; the text is its refusal, if it gave one. `filtered`: the provider withheld the answer or the rest of
 * it. `other`: any other reason for which the provider ended a complete answer.
 */
export type FinishReason = ReplyFinishReason | 'tool_calls' | 'other'

/** What of an answer was not read, because nothing here needs it: an event, a block or a reason of a kind that is not known. */
export type Skipped = { what: string; count: number }

/** A complete answer: the provider reported that it finished. */
export type ModelStep = {
  text: string
  toolCalls: ToolCall[]
  finishReason: FinishReason
  /** Undefined if the provider did not report two totals that are non-negative whole numbers, or if both are zero. */
  usage: ModelUsage | undefined
  /** `billing.token-kinds`: the provider reported kinds that are impossible, and `usage` has its totals without them. */
  usageImpossible?: boolean
  /** For the trace. Absent if everything was read. */
  skipped?: Skipped[]
  /**
   * Provider data that must be sent back with this answer in the next step: reasoning and signatures. JSON that only the provider's own
   * adapter writes and reads, at most `maxContinuation` characters long. It goes back unchanged in the assistant message. Absent if the
   * provider needs nothing.
   */
  continuation?: unknown
}

/**
 * Characters of JSON: enough for 100,000 tokens of encrypted reasoning. A larger continuation is dropped, and the model has to reason
 * again.
 */
export const maxContinuation = 512 * 1024

type ModelErrorOptions = { retryAfterMs?: number | undefined; cause?: unknown; said?: string }

export type ModelErrorKind = 'unavailable' | 'refused' | 'too_long'

/**
 * `unavailable`: the provider or the network failed and may work again (connection error, 408, 429, 5xx, an interrupted or silent stream,
 * an error in the stream, a line over 1 MiB). `refused`: the provider rejects the request itself (other 4xx). `too_long`: the provider
 * rejects the length of the prompt, and may accept a shorter one. `causeKind` names the failure for the log. The message is for the operator
 * only, because it may contain the provider's words (`said`), and a provider may repeat its input in them.
 */
export class ModelError extends Error {
  readonly kind: ModelErrorKind
  readonly causeKind: CauseKind
  /** The message without the text of the provider: what the log may contain. */
  readonly ownMessage: string
  /** The provider's Retry-After in milliseconds, if it sent one. */
  readonly retryAfterMs: number | undefined

  constructor(kind: ModelErrorKind, causeKind: CauseKind, message: string, options: ModelErrorOptions = {}) {
    super(options.said ? `${message}: ${options.said}` : message, { cause: options.cause })
    this.kind = kind
    this.causeKind = causeKind
    this.ownMessage = message
    this.retryAfterMs = options.retryAfterMs
  }
}

export type ModelCall = {
  /** `trace.context`: sent unchanged in the header of the same name. Null for none. */
  traceparent?: string | null
  /** Aborts the call, which then rejects with `signal.reason`. */
  signal: AbortSignal
  /** Called synchronously with each piece of answer text, never with reasoning or tool calls. Pieces may contain lone surrogates or NUL. */
  onText: (text: string) => void
  /** Called if all text so far was reasoning. The text of the answer starts again with the next piece. */
  onReset?: () => void
  /** Called with the UTF-8 bytes of each piece of what the model generates, of any kind: text, also what is removed from it, reasoning, tool calls. */
  onGenerated?: (bytes: number) => void
  /** Called when the call starts. `soFar` returns what the provider has reported until then, even after the call has ended early. */
  onReports?: (soFar: () => UsageSoFar) => void
}

export interface Model {
  /** Resolves with the complete answer, or rejects with ModelError, even for an answer that was cut off. Does not retry. */
  generate(request: ModelRequest, call: ModelCall): Promise<ModelStep>
}
