/**
 * Runs the scenarios of clients/scenarios.json with this client: one line of JSON as input, the events of one call as output, one per line.
 * clients/README.md describes the protocol; it has its own units and field names.
 */
import { text } from 'node:stream/consumers'
import { APIError, Turnkeep, TurnkeepError } from '../src/client.ts'
import type { ChatReply, ChatStream, ChatStreamEvent } from '../src/client.ts'

type Order = {
  base_url: string
  agent_id: string
  api_key: string
  max_retries?: number
  max_wait?: number
  timeout?: number
  cancel_after_deltas?: number
  call: 'chat' | 'stream' | 'background'
  external_user_id: string
  message: string
  idempotency_key?: string
}

const order = JSON.parse(await text(process.stdin)) as Order
const inMs = (seconds: number | undefined): number | undefined => (seconds === undefined ? undefined : seconds * 1_000)
const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)

const printReply = ({ requestId, conversationId, message, usage }: ChatReply): boolean =>
  print({
    event: 'completed',
    request_id: requestId,
    conversation_id: conversationId,
    message: {
      id: message.id,
      role: message.role,
      content: message.content,
      created_at: message.createdAt,
      ...(message.incomplete ? { incomplete: true } : {}),
    },
    usage: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.totalTokens,
      charged_usd: usage.chargedUsd,
    },
  })

function printEvent(event: ChatStreamEvent): void {
  switch (event.type) {
    case 'response.created':
      print({ event: 'created', request_id: event.requestId, conversation_id: event.conversationId })
      break
    case 'response.output_text.delta':
      print({ event: 'delta', delta: event.delta })
      break
    case 'response.output_text.reset':
      print({ event: 'reset' })
      break
    case 'response.completed':
      printReply(event)
  }
}

function printError(error: TurnkeepError): void {
  const { code, status, requestId, retryAfter } = error instanceof APIError ? error : ({} as Partial<APIError>)
  print({
    event: 'error',
    kind: error.name,
    code,
    status,
    request_id: requestId,
    retry_after: retryAfter,
    idempotency_key: error.idempotencyKey,
  })
}

/** Cancels the turn after as many deltas as the order says. */
async function drive(client: Turnkeep, stream: ChatStream): Promise<void> {
  let [deltas, requestId] = [0, '']
  for await (const event of stream) {
    printEvent(event)
    if (event.type === 'response.created') requestId = event.requestId
    else if (event.type === 'response.output_text.delta') deltas += 1
    else continue
    if (deltas === order.cancel_after_deltas) await client.turns.cancel(requestId)
  }
}

try {
  const client = new Turnkeep({
    baseURL: order.base_url,
    agentId: order.agent_id,
    apiKey: order.api_key,
    timeout: inMs(order.timeout),
    maxRetries: order.max_retries,
    maxWait: inMs(order.max_wait),
  })
  const message = { externalUserId: order.external_user_id, message: order.message }
  const options = { idempotencyKey: order.idempotency_key }
  if (order.call === 'stream') await drive(client, client.stream(message, options))
  else {
    const reply = await client.chat(message, { ...options, background: order.call === 'background' })
    if ('message' in reply) printReply(reply)
    else print({ event: 'started', request_id: reply.requestId, conversation_id: reply.conversationId })
  }
} catch (error) {
  if (!(error instanceof TurnkeepError)) throw error
  printError(error)
}
