/**
 * The body of a delivery: `{type, timestamp, data}`. It contains IDs, states and usage. Texts of end users are in it only if the webhook
 * includes messages (`webhook.messages`).
 */
import { failures } from '../errors.ts'
import { isCutOff } from '../finish-reason.ts'
import { formatUsd } from '../ledger/ledger.ts'
import type { EventRecord, EventTurn, ReachedLimit } from '../store/queries/webhooks/event-data.ts'

export function bodyOf(event: EventRecord, includeMessages: boolean): string {
  return JSON.stringify({ type: event.type, timestamp: new Date(event.occurredAt).toISOString(), data: dataOf(event, includeMessages) })
}

function dataOf(event: EventRecord, includeMessages: boolean): object {
  const { type, ownerId: owner_id, agentId: agent_id, data } = event
  switch (data.kind) {
    case 'turn':
      return turnOf(event, data.turn, includeMessages)
    case 'feedback':
      return {
        ...idsOf(event, data.turn),
        rating: data.rating,
        tags: data.tags,
        ...(includeMessages ? { comment: data.comment } : {}),
      }
    case 'balance':
      return {
        owner_id,
        balance_usd: formatUsd(data.balance),
        low_balance_usd: data.lowBalance === null ? null : formatUsd(data.lowBalance),
      }
    case 'document':
      return {
        document_id: data.documentId,
        owner_id,
        agent_id,
        title: data.title,
        status: type === 'document.ready' ? 'ready' : 'failed',
        reason: type === 'document.failed' ? data.reason : null,
      }
    case 'spend_limit':
      return { owner_id, agent_id, ...reachedOf(data.reached) }
  }
}

/** As the admin API describes the window, with the limit as it was when the event occurred. */
const reachedOf = ({ scope, subject, span, startsAt, endsAt, limit, spent, held, unpaid, thresholdPercent }: ReachedLimit): object => ({
  scope,
  window: span,
  key_id: scope === 'api_key' ? subject : null,
  external_user_id: scope === 'end_user' ? subject : null,
  starts_at: endsAt === null ? null : new Date(startsAt).toISOString(),
  ends_at: endsAt === null ? null : new Date(endsAt).toISOString(),
  threshold_percent: thresholdPercent,
  limit_usd: formatUsd(limit),
  spent_usd: formatUsd(spent),
  held_usd: formatUsd(held),
  unpaid_usd: formatUsd(unpaid),
})

const idsOf = ({ ownerId, agentId }: EventRecord, turn: EventTurn): object => ({
  request_id: turn.requestId,
  conversation_id: turn.conversationId,
  external_user_id: turn.externalUserId,
  owner_id: ownerId,
  agent_id: agentId,
  agent_version: turn.agentVersion,
  key_id: turn.apiKeyId,
})

/**
 * As the turn was when the event occurred, so that a second delivery has the same body. A released turn may have run again by the time that
 * this is sent, and why it was released is no longer stored with it: the event has no error.
 */
function turnOf(event: EventRecord, turn: EventTurn, includeMessages: boolean): object {
  const status = event.type.slice('turn.'.length)
  const run = status === 'released' ? Number(event.subject.slice(event.subject.lastIndexOf('_') + 1)) : turn.run
  const { usage } = turn
  const completed = status === 'completed'
  const code = status === 'released' ? null : turn.failureCode
  return {
    ...idsOf(event, turn),
    status,
    run,
    created_at: new Date(turn.createdAt).toISOString(),
    ended_at: new Date(event.occurredAt).toISOString(),
    incomplete: completed && isCutOff(turn),
    finish_reason: completed ? turn.finishReason : null,
    // A cancelled turn may have been charged for its tool calls. A released one may have run again since.
    usage: usage && (completed || status === 'cancelled') ? usageOf(usage) : null,
    error: code === null ? null : { code, message: messageOf(code) },
    ...(includeMessages ? { user_message: completed ? turn.userMessage : null, message: completed ? turn.reply : null } : {}),
  }
}

const usageOf = ({ promptTokens, completionTokens, charged, estimated }: NonNullable<EventTurn['usage']>): object => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  charged_usd: formatUsd(charged),
  estimated,
})

const messageOf = (code: string): string => Object.entries(failures).find(([known]) => known === code)?.[1].message ?? code
