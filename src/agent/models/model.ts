/**
 * The model port: one call of a language model, streamed. Knows nothing of turns, money or HTTP.
 * Every provider is a `Model`; retries and the turn's deadline belong to the caller, the deadlines of one call to the model.
 */

export type ToolCall = { id: string; name: string; arguments: string }

export type PromptMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  /** `continuation` is that of the step which said this. */
  | { role: 'assistant'; content: string; toolCalls?: ToolCall[]; continuation?: unknown }
  | { role: 'tool'; toolCallId: string; content: string }

export type ToolDefinition = { name: string; description: string; parameters: unknown }

/**
 * A piece of the knowledge base, best first. Already part of the system message; the built-in demo model answers with it.
 * `section` names the headings it stands under, `Returns › Deadlines`; empty where there is none.
 */
export type Passage = { documentId: string; title: string; section: string; text: string; score: number }

export type ModelRequest = {
  /** The provider's own name of the model. */
  modelId: string
  messages: PromptMessage[]
  tools: ToolDefinition[]
  maxOutputTokens: number
  temperature: number | null
  passages: Passage[]
}

/** `undefined` where the provider gave no usage, or one that is not two non-negative whole numbers. */
export type ModelUsage = { promptTokens: number; completionTokens: number }

/** `other` covers a content filter and whatever else ended a complete answer. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'other'

/** A complete answer: the provider said that it is finished. */
export type ModelStep = {
  text: string
  toolCalls: ToolCall[]
  finishReason: FinishReason
  usage: ModelUsage | undefined
  /**
   * What the provider wants back, beside this answer, when the loop goes on: reasoning and signatures. JSON that the provider's own dialect
   * wrote and alone reads, at most `maxContinuation` long; goes back in the assistant's message, unchanged. Absent where nothing is wanted.
   */
  continuation?: unknown
}

/** Characters of JSON. Reasoning of 100,000 tokens in its sealed form; what is longer is dropped, and the model thinks again. */
export const maxContinuation = 512 * 1024

export type ModelErrorKind = 'unavailable' | 'refused' | 'too_long'

/**
 * `unavailable`: the model's side or its network failed and may work again (connect, 408, 429, 5xx, a cut, a silence, an error inside the stream,
 * a line over 1 MiB). `refused`: it refuses the request itself (other 4xx). `too_long`: it refuses this prompt's length; a shorter one may pass.
 * The message is for the operator only. It ends with `said`, the text of the provider, which may repeat the prompt.
 */
export class ModelError extends Error {
  readonly kind: ModelErrorKind
  /** The message without the text of the provider: what the log may contain. */
  readonly ownMessage: string
  /** The provider's Retry-After, where it gave one. */
  readonly retryAfterMs: number | undefined

  constructor(kind: ModelErrorKind, message: string, options: { retryAfterMs?: number | undefined; cause?: unknown; said?: string } = {}) {
    super(options.said ? `${message}: ${options.said}` : message, { cause: options.cause })
    this.kind = kind
    this.ownMessage = message
    this.retryAfterMs = options.retryAfterMs
  }
}

export type ModelCall = {
  /** Aborts the call; it then rejects with `signal.reason`. */
  signal: AbortSignal
  /** Called synchronously for each piece of answer text, never with reasoning or tool activity. Pieces may hold lone surrogates or NUL. */
  onText: (text: string) => void
}

export interface Model {
  /** Resolves with the complete answer, or rejects with ModelError; a truncated answer is an error, never an answer. Never retries. */
  generate(request: ModelRequest, call: ModelCall): Promise<ModelStep>
}
