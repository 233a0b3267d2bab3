/** The chat response, the same text on both transports and at every replay. Specification section 2; ruling `idempotency.replay`. */
import { formatUsd } from '../ledger/ledger.ts'
import type { TurnEnd } from '../turn/outcome.ts'

export type StoredReply = Extract<TurnEnd, { kind: 'completed' }>['reply']

/** One line of JSON. */
export const chatResponse = (reply: StoredReply): string =>
  JSON.stringify({
    request_id: reply.requestId,
    conversation_id: reply.conversationId,
    message: { id: reply.messageId, role: 'assistant', content: reply.content, created_at: new Date(reply.createdAt).toISOString() },
    usage: {
      prompt_tokens: reply.promptTokens,
      completion_tokens: reply.completionTokens,
      total_tokens: reply.promptTokens + reply.completionTokens,
      charged_usd: formatUsd(reply.charged),
    },
  })
