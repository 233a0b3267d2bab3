/** Converts turns and feedback between the names of the API and those of this client, as wire.ts does for messages. */
import { attemptRead, choiceOf, countOf, fieldsOf, flagOf, listOf, nullable, textOf } from './fields.ts'
import type { Fields } from './fields.ts'
import { takeCreated, takeMessage, takeUsage } from './wire.ts'
import type { AssistantMessage, Usage } from './wire.ts'

/** A code of the error table, and a sentence about this turn. */
export type TurnError = { code: string; message: string }

/** The usage of a turn in detail. The details are parts of the totals. */
export type TurnUsage = Usage & {
  /** Prompt tokens that the provider read from its cache, and those that it wrote to it. */
  promptTokensDetails: { cachedTokens: number; cacheWriteTokens: number }
  completionTokensDetails: { reasoningTokens: number }
  /** The price of the finished tool calls, a decimal with 8 places. Part of `chargedUsd`. */
  toolCallsUsd: string
}

/**
 * A message on its way to its reply. `message` and `usage` exist if `status` is `completed`, and are null otherwise, except that a cancelled
 * turn that was charged for finished tool calls has `usage`. Times are ISO 8601.
 */
export type Turn = {
  requestId: string
  conversationId: string
  externalUserId: string
  createdAt: string
  /** Null while the turn is running. */
  endedAt: string | null
  /** True if `cancel` was called while the turn was running. */
  cancelRequested: boolean
  /** Why the model ended the reply; null without a reply, of a cancelled one, and from a server that does not know. */
  finishReason: 'stop' | 'length' | 'refused' | 'filtered' | null
} & (
  | { status: 'completed'; message: AssistantMessage; usage: TurnUsage; error: null }
  | {
      /** `released`: it ended without a reply, and the same message with the same key runs it again. */
      status: 'running' | 'failed' | 'released'
      message: null
      usage: null
      error: TurnError | null
    }
  | {
      status: 'cancelled'
      message: null
      usage: TurnUsage | null
      error: TurnError | null
    }
)

/** A turn that runs in the background. */
export type StartedTurn = { requestId: string; conversationId: string; status: 'running' }

export type FeedbackRequest = {
  rating: 'up' | 'down'
  /** 1 to 2,000 characters. */
  comment?: string | undefined
  /** Up to 20 different ones, each with 1 to 64 characters. */
  tags?: readonly string[] | undefined
}

/** The newest feedback on a turn. Times are ISO 8601. */
export type Feedback = {
  requestId: string
  rating: 'up' | 'down'
  comment: string | null
  tags: string[]
  createdAt: string
  updatedAt: string
}

export const writeFeedback = ({ rating, comment, tags }: FeedbackRequest): string => JSON.stringify({ rating, comment, tags })

function takeTurnUsage(from: Fields): TurnUsage {
  const usage = fieldsOf(from['usage'])
  const prompt = fieldsOf(usage['prompt_tokens_details'])
  return {
    ...takeUsage(from),
    promptTokensDetails: { cachedTokens: countOf(prompt, 'cached_tokens'), cacheWriteTokens: countOf(prompt, 'cache_write_tokens') },
    completionTokensDetails: { reasoningTokens: countOf(fieldsOf(usage['completion_tokens_details']), 'reasoning_tokens') },
    toolCallsUsd: textOf(usage, 'tool_calls_usd'),
  }
}

function takeOutcome(from: Fields) {
  const status = choiceOf(from, 'status', 'running', 'completed', 'failed', 'released', 'cancelled')
  if (status === 'completed') return { status, message: takeMessage(from), usage: takeTurnUsage(from), error: null }
  const error = nullable(from, 'error', (fields, name) => {
    const failure = fieldsOf(fields[name])
    return { code: textOf(failure, 'code'), message: textOf(failure, 'message') }
  })
  if (status !== 'cancelled') return { status, message: null, usage: null, error }
  return { status, message: null, usage: nullable(from, 'usage', takeTurnUsage), error }
}

export const readTurn = (value: unknown): Turn | undefined =>
  attemptRead(() => {
    const from = fieldsOf(value)
    return {
      ...takeCreated(from),
      externalUserId: textOf(from, 'external_user_id'),
      createdAt: textOf(from, 'created_at'),
      endedAt: nullable(from, 'ended_at', textOf),
      cancelRequested: flagOf(from, 'cancel_requested'),
      finishReason:
        (from['finish_reason'] ?? null) === null ? null : choiceOf(from, 'finish_reason', 'stop', 'length', 'refused', 'filtered'),
      ...takeOutcome(from),
    }
  })

export const readStarted = (value: unknown): StartedTurn | undefined =>
  attemptRead(() => {
    const from = fieldsOf(value)
    return { ...takeCreated(from), status: choiceOf(from, 'status', 'running') }
  })

export const readFeedback = (value: unknown): Feedback | undefined =>
  attemptRead(() => {
    const from = fieldsOf(value)
    return {
      requestId: textOf(from, 'request_id'),
      rating: choiceOf(from, 'rating', 'up', 'down'),
      comment: nullable(from, 'comment', textOf),
      tags: listOf(from, 'tags', (tag) => textOf({ tag }, 'tag')),
      createdAt: textOf(from, 'created_at'),
      updatedAt: textOf(from, 'updated_at'),
    }
  })
