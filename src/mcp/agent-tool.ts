/**
 * The one tool of an agent as an MCP server: its description, its arguments and its results, for HTTP and for stdio (`mcp.tool`). Runs no
 * turn, and loads nothing of the MCP SDK.
 */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { isLongerThan } from '../code-points.ts'

/** The arguments of a call. `idempotencyKey` is undefined if the caller gave none. */
export type ToolCall = { message: string; externalUserId: string; idempotencyKey: string | undefined }

/** `chargedUsd` has 8 decimal places. `incomplete`: the text was cut off (`turn.finish-reason`). */
export type ToolReply = {
  content: string
  requestId: string
  conversationId: string
  usage: { promptTokens: number; completionTokens: number; chargedUsd: string }
  incomplete: boolean
}

/** Why there is no reply. `idempotencyKey`: the key of the call, including one that the server made for it. */
export type ToolFailure = {
  code: string
  message: string
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
  idempotencyKey?: string | undefined
  /** The path of the running turn because of which the call was refused. */
  location?: string | undefined
}

export type ToolOutcome = { kind: 'replied'; reply: ToolReply } | ({ kind: 'failed' } & ToolFailure)

const maxMessage = 1_000_000
const maxName = 255

const text = (description: string, maxLength: number) => ({ type: 'string' as const, minLength: 1, maxLength, description })

/** @param name the name of the agent @param toolName its slug @param hasDefaultUser whether a call may omit `external_user_id` */
export function describeTool({ name, toolName, hasDefaultUser }: { name: string; toolName: string; hasDefaultUser: boolean }): Tool {
  return {
    name: toolName,
    title: name,
    description:
      `Sends a message to the agent "${name}" and returns its reply. The agent remembers its conversation with each end user, so send ` +
      'only the new message. Send one message at a time for an end user. If a call fails or gets no answer, repeat it with the same ' +
      'arguments, idempotency_key included: it is then answered once and charged once.',
    inputSchema: {
      type: 'object',
      properties: {
        message: text('The message to the agent.', maxMessage),
        external_user_id: text(
          `The person in whose conversation the message belongs, by an ID of your choice.${hasDefaultUser ? ' Omit it to use the conversation that is configured for this server.' : ''}`,
          maxName,
        ),
        idempotency_key: text(
          'A new unique ID for each message, such as a UUID. A repeated call with the same ID and message returns the same reply and is not ' +
            'charged again, until 24 hours after the reply. Without it, a repeated call is a new message.',
          maxName,
        ),
      },
      required: hasDefaultUser ? ['message'] : ['message', 'external_user_id'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        content: { type: 'string', description: 'The reply of the agent, the same text as in the content of the result.' },
        request_id: { type: 'string', description: 'The ID of the turn.' },
        conversation_id: { type: 'string', description: 'The conversation of the end user.' },
        usage: {
          type: 'object',
          properties: {
            prompt_tokens: { type: 'integer' },
            completion_tokens: { type: 'integer' },
            total_tokens: { type: 'integer' },
            charged_usd: { type: 'string', description: 'What was charged, with 8 decimal places.' },
          },
          required: ['prompt_tokens', 'completion_tokens', 'total_tokens', 'charged_usd'],
        },
        incomplete: {
          type: 'boolean',
          description: 'True if the text ends before its end: at the token limit, by a content filter, or because the turn was cancelled.',
        },
      },
      required: ['content', 'request_id', 'conversation_id', 'usage'],
    },
    // The agent may have tools of its own, and a repeated call without a key is a new message.
    annotations: { title: name, readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  }
}

export type ReadCall = { kind: 'call'; call: ToolCall } | { kind: 'invalid'; message: string }

/** Where a client sends a key that its model does not see, as this service does when its own agents call a tool. */
export const keyInMeta = 'turnkeep/idempotency-key'

const known = new Set(['message', 'external_user_id', 'idempotency_key'])

/**
 * Checks the arguments of a call. Models send null for an optional argument that they leave out. `metaKey` is the key of a call whose arguments have none. A message never repeats the value that was sent
 * (`order.validation`).
 */
export function readToolCall(given: Record<string, unknown> | undefined, defaultExternalUserId: string | null, metaKey: unknown): ReadCall {
  const fields = given ?? {}
  if (Object.keys(fields).some((name) => !known.has(name)))
    return invalid(`The arguments have an unknown field. The fields are ${[...known].join(', ')}.`)
  const message = fields['message'] ?? undefined
  const externalUserId = fields['external_user_id'] ?? defaultExternalUserId ?? undefined
  const idempotencyKey = fields['idempotency_key'] ?? metaKey ?? undefined
  if (externalUserId === undefined) return invalid('external_user_id is required, because the API key has no default_external_user_id.')
  const problem =
    problemOf('message', message, maxMessage) ??
    problemOf('external_user_id', externalUserId, maxName) ??
    (idempotencyKey === undefined ? undefined : (problemOf('idempotency_key', idempotencyKey, maxName) ?? headerProblemOf(idempotencyKey)))
  if (problem !== undefined) return invalid(problem)
  return {
    kind: 'call',
    call: {
      message: String(message),
      externalUserId: String(externalUserId),
      idempotencyKey: idempotencyKey === undefined ? undefined : String(idempotencyKey),
    },
  }
}

const invalid = (message: string): ReadCall => ({ kind: 'invalid', message })

/** `text.well-formed`. Lengths are in code points, as everywhere. */
function problemOf(name: string, value: unknown, maxLength: number): string | undefined {
  if (value === undefined) return `${name} is required.`
  if (typeof value !== 'string') return `${name} must be of type string.`
  if (value === '') return `${name} must not be empty.`
  if (isLongerThan(value, maxLength)) return `${name} must have at most ${maxLength} characters.`
  if (!value.isWellFormed() || value.includes('\0')) return `${name} must not contain U+0000 or unpaired surrogates.`
  return undefined
}

/** `idempotency.key-text`: what the header of a key cannot carry is no key here either. */
const headerProblemOf = (key: unknown): string | undefined =>
  /^ | $|\p{Cc}/u.test(String(key)) ? 'idempotency_key must not begin or end with a blank or contain control characters.' : undefined

/**
 * The result of a reply. Clients differ in what they pass to their model: the text, or only `structuredContent` if there is one, so both have
 * the whole reply.
 */
export function writeReply({ content, requestId, conversationId, usage, incomplete }: ToolReply): CallToolResult {
  const { promptTokens, completionTokens, chargedUsd } = usage
  const tokens = { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens }
  return {
    content: [{ type: 'text', text: content }],
    structuredContent: {
      // mutant: mcp.tool
      content,
      request_id: requestId,
      conversation_id: conversationId,
      usage: { ...tokens, charged_usd: chargedUsd },
      ...(incomplete ? { incomplete } : {}),
    },
  }
}

/** The result of a call without a reply: the code, what happened, and what to do, for the model that called and for its user. */
export function writeFailure(failure: ToolFailure): CallToolResult {
  const { code, message, requestId, retryAfterSeconds, location } = failure
  const details = { code, request_id: requestId, retry_after_seconds: retryAfterSeconds, location }
  const advice = adviceFor(failure)
  return {
    isError: true,
    content: [{ type: 'text', text: [`${code}: ${message}`, advice, requestId && `request_id: ${requestId}`].filter(Boolean).join('\n') }],
    // Not in structuredContent, which has to match the output schema.
    _meta: { 'turnkeep/error': Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined)) },
  }
}

const askOperator = 'Ask the operator of the agent. Another call will fail the same way.'

function adviceFor({ code, retryAfterSeconds, idempotencyKey }: ToolFailure): string | undefined {
  const when = retryAfterSeconds === undefined ? 'later' : `in ${retryAfterSeconds} s`
  const key = idempotencyKey === undefined ? '' : `, with the same message and idempotency_key ${JSON.stringify(idempotencyKey)}`
  switch (code) {
    case 'conversation_busy':
    case 'idempotency_in_progress':
    case 'service_unavailable':
    case 'api_rate_limit_unavailable':
    case 'rate_limit_exceeded':
      return `Call the tool again ${when}${key}.`
    case 'spend_limit_exceeded':
      return retryAfterSeconds === undefined ? askOperator : `The limit ends ${when}. To raise it, ask the operator of the agent.`
    case 'idempotency_conflict':
    case 'turn_cancelled':
    case 'not_found':
      return 'To send a new message, use a new idempotency_key.'
    case 'insufficient_balance':
      return `The operator of the agent has to add to its owner's balance. Another call will fail the same way until then.`
    case 'agent_disabled':
    case 'agent_not_found':
      return askOperator
    case 'unreachable':
      return `If the message arrived, it is answered and charged once. Call the tool again later${key}.`
    default:
      return undefined
  }
}
