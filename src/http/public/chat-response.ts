/** Writes the chat response. The text is identical on both transports and for every replay (`idempotency.replay`). */
import { isCutOff } from '../../finish-reason.ts'
import { formatUsd } from '../../ledger/ledger.ts'
import type { TurnEnd } from '../../turn/outcome.ts'

export type StoredReply = Extract<TurnEnd, { kind: 'completed' }>['reply']

/** Returns one line of JSON. Only the content can hold characters that need escaping, so everything else is written directly. */
export function chatResponse(reply: StoredReply): string {
  const { requestId, conversationId, messageId, content, createdAt, promptTokens, completionTokens, charged } = reply
  const message = `{"id":"${messageId}","role":"assistant","content":${JSON.stringify(content)},"created_at":"${time(createdAt)}"${isCutOff(reply) ? ',"incomplete":true' : ''}}`
  const tokens = `"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},"total_tokens":${promptTokens + completionTokens}`
  const usage = `{${tokens},"charged_usd":"${formatUsd(charged)}"}`
  return `{"request_id":"${requestId}","conversation_id":"${conversationId}","message":${message},"usage":${usage}}`
}

/** `time.format`. */
const time = (epochMs: number): string => new Date(epochMs).toISOString()
