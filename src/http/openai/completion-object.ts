/** Writes a turn in the format of Chat Completions: one object, or a stream of chunks. Stores nothing. */
import { ApiError } from '../../errors.ts'
import { isCutOff } from '../../finish-reason.ts'
import type { UsageDetails } from '../../store/queries/columns.ts'
import type { TurnEnd } from '../../turn/outcome.ts'
import type { TextPosition } from '../../turn/turn-text.ts'
import type { StoredReply } from '../public/chat-response.ts'
import { endedLater } from '../public/event-stream.ts'
import type { EventFormat } from '../public/event-stream.ts'
import { openAiError } from './openai-error.ts'
import type { OpenAiErrorObject } from './openai-error.ts'
import { completionId, createdAt } from './openai-ids.ts'
import type { Completion } from './openai-schemas.ts'

const completionUsage = ({ promptTokens, completionTokens }: StoredReply, details: UsageDetails | undefined): Completion['usage'] => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  prompt_tokens_details: { cached_tokens: details?.cachedPromptTokens ?? 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: details?.reasoningTokens ?? 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})

/** `turn.finish-reason`. A cancel (`turn.cancel`) has no reason of its own in this format, and a refusal is a whole reply. */
const finishReason = (reply: StoredReply): 'stop' | 'length' | 'content_filter' =>
  reply.finishReason === 'filtered' ? 'content_filter' : isCutOff(reply) ? 'length' : 'stop'

export const completionObject = (reply: StoredReply, details: UsageDetails | undefined, model: string): Completion => ({
  id: completionId(reply.requestId),
  object: 'chat.completion',
  created: createdAt(reply.requestId),
  model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: reply.content, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: finishReason(reply),
    },
  ],
  usage: completionUsage(reply, details),
})

/** The text of a stream that was sent already differs from the one that is generated now. */
export const regenerated: OpenAiErrorObject = {
  message: 'The text was generated again after an interruption, and differs. Discard what you have received, and send the request again.',
  type: 'server_error',
  param: null,
  code: 'response_regenerated',
}

export class CompletionChunks implements EventFormat {
  readonly first: string
  readonly #start: string
  readonly #end: string
  readonly #chunk: Record<string, unknown>
  readonly #includeUsage: boolean
  /** How much of the text is sent. */
  #sent = 0
  #next = 0

  constructor(requestId: string, model: string, includeUsage: boolean) {
    this.#includeUsage = includeUsage
    this.#chunk = { id: completionId(requestId), object: 'chat.completion.chunk', created: createdAt(requestId), model }
    // Every chunk has the same text around its delta.
    const [start, end] = this.#write({ content: '' }, null).split('""')
    this.#start = start!
    this.#end = end!
    this.first = this.#write({ role: 'assistant', content: '', refusal: null }, null)
  }

  text(text: string, position: TextPosition): string {
    this.#next = position.offset
    return this.#delta(text)
  }

  accepted(): void {
    this.#sent = this.#next
  }

  /** This format cannot take text back. */
  reset(): { events: string; isLast: boolean } {
    this.#next = 0
    return this.#sent === 0 ? { events: '', isLast: false } : { events: data({ error: regenerated }), isLast: true }
  }

  last(end: TurnEnd): string {
    if (end.kind === 'failed') return data({ error: openAiError(new ApiError(end.code)) })
    const { reply, details } = end
    const rest = reply.content.slice(this.#sent)
    const usage = this.#includeUsage ? data({ ...this.#chunk, choices: [], usage: completionUsage(reply, details) }) : ''
    return `${rest && this.#delta(rest)}${this.#write({}, finishReason(reply))}${usage}data: [DONE]\n\n`
  }

  refused(): string {
    return this.last(endedLater)
  }

  #delta(text: string): string {
    return `${this.#start}${JSON.stringify(text)}${this.#end}`
  }

  #write(delta: object, finish: string | null): string {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
    return data({ ...this.#chunk, choices: [choice], ...(this.#includeUsage ? { usage: null } : {}) })
  }
}

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
