/** Writes a turn as a response of OpenAI's Responses API, in each of its states. Stores nothing. */
import { ApiError } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'
import { isCutOff } from '../../finish-reason.ts'
import type { UsageDetails } from '../../store/queries/columns.ts'
import type { TurnStatus } from '../../turn/turn-resource.ts'
import type { StoredReply } from '../public/chat-response.ts'
import { createdAt, inputItemId, replyItemId, responseId } from './openai-ids.ts'
import type { InputItem, ResponseObject } from './openai-schemas.ts'

type IncompleteReason = NonNullable<ResponseObject['incomplete_details']>['reason']
type ReplyItem = ResponseObject['output'][number]

/** What is the same in all states of a response. */
export type ResponseFacts = {
  requestId: string
  conversationId: string
  /** The ID of the agent. */
  model: string
  user: string
  background: boolean
  previousResponseId: string | null
}

export type ResponseState =
  | { status: 'in_progress' }
  | { status: 'completed' | 'incomplete'; reply: StoredReply; details: UsageDetails | undefined }
  | { status: 'failed' | 'cancelled'; code: FailureCode }

/** `turn.finish-reason`: of the response, and of its item. */
export const statusOf = (reply: StoredReply): 'completed' | 'incomplete' => (isCutOff(reply) ? 'incomplete' : 'completed')

export const stateOfReply = (reply: StoredReply, details: UsageDetails | undefined): ResponseState => ({
  status: statusOf(reply),
  reply,
  details,
})

/** A released turn has failed for its caller: only a retry of the request runs it again. */
export function stateOfTurn({ state, reply, usage, failureCode }: TurnStatus): ResponseState {
  if (reply) return stateOfReply(reply, usage ?? undefined)
  if (state === 'running' || state === 'completed') return { status: 'in_progress' }
  return { status: state === 'cancelled' ? 'cancelled' : 'failed', code: failureCode ?? 'internal_error' }
}

// The agent has its own. These are the defaults of OpenAI's API, for clients that require numbers.
const unsetSampling = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 }

export function responseObject(facts: ResponseFacts, state: ResponseState): ResponseObject {
  const { requestId, conversationId, model, user, background, previousResponseId } = facts
  const reply = 'reply' in state ? state.reply : undefined
  return {
    id: responseId(requestId),
    object: 'response',
    created_at: createdAt(requestId),
    completed_at: reply && state.status === 'completed' ? Math.floor(reply.createdAt / 1000) : null,
    status: state.status,
    background,
    error: 'code' in state ? errorOf(state.code) : null,
    incomplete_details: state.status === 'incomplete' ? { reason: reasonOf(state.reply) } : null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model,
    output: reply ? [replyItem(requestId, reply.content, statusOf(reply))] : [],
    parallel_tool_calls: true,
    previous_response_id: previousResponseId,
    conversation: { id: conversationId },
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    ...unsetSampling,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    truncation: 'disabled',
    usage: 'reply' in state ? usageOf(state) : null,
    user,
    metadata: {},
  }
}

/** A cancel has no reason of its own in this format. */
const reasonOf = ({ finishReason }: StoredReply): IncompleteReason => (finishReason === 'filtered' ? 'content_filter' : 'max_output_tokens')

/** OpenAI's list of codes has one for everything that a server cannot help. */
function errorOf(code: FailureCode): ResponseObject['error'] {
  const { status, message } = new ApiError(code)
  return { code: status >= 500 ? 'server_error' : code, message }
}

const usageOf = ({ reply, details }: Extract<ResponseState, { reply: StoredReply }>): ResponseObject['usage'] => ({
  input_tokens: reply.promptTokens,
  input_tokens_details: { cached_tokens: details?.cachedPromptTokens ?? 0, cache_write_tokens: details?.cacheWriteTokens ?? 0 },
  output_tokens: reply.completionTokens,
  output_tokens_details: { reasoning_tokens: details?.reasoningTokens ?? 0 },
  total_tokens: reply.promptTokens + reply.completionTokens,
})

export const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export const replyItem = (requestId: string, text: string | null, status: 'in_progress' | 'completed' | 'incomplete'): ReplyItem => ({
  id: replyItemId(requestId),
  type: 'message',
  role: 'assistant',
  status,
  content: text === null ? [] : [textPart(text)],
})

export const inputItem = (requestId: string, text: string): InputItem => ({
  id: inputItemId(requestId),
  type: 'message',
  role: 'user',
  status: 'completed',
  content: [{ type: 'input_text', text }],
})
