/**
 * Answers one JSON-RPC message: the SDK reads it and shapes the response, this file runs the turn and writes what the SDK returns. Nothing is
 * kept between two messages. Everything in here is loaded with the first message.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../../errors.ts'
import { isCutOff } from '../../finish-reason.ts'
import { formatUsd } from '../../ledger/ledger.ts'
import { createAgentServer } from '../../mcp/agent-server.ts'
import type { CallListener } from '../../mcp/agent-server.ts'
import type { ToolCall, ToolOutcome } from '../../mcp/agent-tool.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { TurnEnd } from '../../turn/outcome.ts'
import { note, noteBeginResult } from '../edge/access-log.ts'
import { jsonType } from '../edge/envelope.ts'
import { tooLong } from '../edge/invalid-input.ts'
import { rateHeaders } from '../public/caller.ts'
import { refusalOf } from '../public/chat-routes.ts'
import type { Turns } from '../public/chat-routes.ts'
import type { StoredReply } from '../public/chat-response.ts'
import type { StreamOptions } from '../public/event-stream.ts'
import { readTraceparent } from '../public/request-headers.ts'
import { answerIn, idOf, writeEvents } from './mcp-events.ts'
import { responseForm } from './response-form.ts'
import { withoutNulls } from '../../mcp/without-nulls.ts'

/** What answers a message. `progressMs`: the time between two notifications of progress. */
export type Exchange = { turns: Turns; streams: StreamOptions; metrics: Metrics; progressMs: number }

export async function answerMcp(
  request: FastifyRequest,
  reply: FastifyReply,
  message: unknown,
  options: Exchange & { version: string },
): Promise<FastifyReply | void> {
  const { apiKey, figures } = request.caller
  const { raw } = request
  let unexpected: unknown
  const form = responseForm(raw.headers.accept)
  const handler = createMcpHandler(
    () =>
      createAgentServer({
        version: options.version,
        agentName: apiKey.agentName,
        defaultExternalUserId: apiKey.defaultExternalUserId,
        call: (call, listener) => runTurn(request, reply, call, listener, options),
        onInvalid: () => refused(raw, options, 'validation_error'),
        onError: (error) =>
          options.streams.log.error({ err: error, request_id: request.id, route: '/mcp' }, 'MCP request failed: internal error'),
        progressMs: options.progressMs,
      }),
    // What a caller can cause has its own response. The others end as a 500.
    {
      keepAliveMs: options.streams.times.heartbeatMs,
      responseMode: form === 'events' ? 'sse' : 'auto',
      onerror: (error) => (unexpected ??= error),
    },
  )
  const leaving = new AbortController()
  reply.raw.once('close', () => leaving.abort())
  // No one reads the address.
  const asked = new Request('http://localhost/mcp', { method: 'POST', headers: headersOf(raw.headers), signal: leaving.signal })
  const response = await handler.fetch(asked, { parsedBody: withoutNulls(message) })
  if (response.status >= 500) throw unexpected ?? new Error(`the MCP SDK answered ${response.status}`)
  const isStream = response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (isStream && form !== 'json') {
    reply.hijack()
    note(raw, { transport: 'stream' })
    return writeEvents(reply.raw, response.body!, options.streams, () => raw.noted?.requestId ?? request.id, idOf(message))
  }
  // The SDK writes events whenever it can, and their last message is the answer.
  const text = isStream ? answerIn(await response.text()) : await response.text()
  reply.code(response.status).headers({ 'x-request-id': raw.noted?.requestId ?? request.id })
  if (text === '') return reply.send()
  return reply.headers({ ...(response.status === 200 ? rateHeaders(figures) : {}), 'content-type': jsonType }).send(text)
}

/**
 * All headers but the API key, which the SDK does not need, and with the Accept header that it requires; the form of the response is decided
 * here. Node joins or drops repeated ones.
 */
function headersOf(headers: IncomingHttpHeaders): Headers {
  const passed = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string' && name !== 'authorization' && name !== 'content-length') passed.set(name, value)
  passed.set('accept', 'application/json, text/event-stream')
  return passed
}

/**
 * Runs one message as the chat endpoint does, and waits for its end even if the caller has left. A call without a key gets one that no other
 * call has: a JSON-RPC ID is unique only within one connection of one client, so it could name another message (`mcp.idempotency-key`).
 */
async function runTurn(
  { raw, caller }: FastifyRequest,
  reply: FastifyReply,
  // mutant: mcp.idempotency-key
  { message, externalUserId, idempotencyKey = randomUUID() }: ToolCall,
  { progress, signal }: CallListener,
  options: Exchange,
): Promise<ToolOutcome> {
  const { id: apiKeyId, agentId, ownerId: shareOf } = caller.apiKey
  // mutant: mcp.idempotency-key-2
  const traceparent = readTraceparent(raw)
  const started = await options.turns.begin({ apiKeyId, agentId, idempotencyKey, externalUserId, message, traceparent, shareOf })
  noteBeginResult(raw, started)
  let end: TurnEnd | undefined
  if (started.kind === 'running') {
    progress.started()
    const stopListening = started.turn.listen({ onText: (text) => progress.text(text), onReset: () => progress.reset() })
    // mutant: mcp.progress
    signal.addEventListener('abort', stopListening, { once: true })
    end = await started.turn.end
  }
  await options.streams.failpoints.reach('answer.before-send', message, () => void reply.raw.destroy())
  switch (started.kind) {
    case 'refused': {
      refused(raw, options, started.code)
      const refusal = refusalOf({ caller }, started)
      return failed(refusal, refusal.requestId, idempotencyKey)
    }
    case 'message_too_long':
      refused(raw, options, 'validation_error')
      return failed(invalid('message', tooLong('message', started.longest)), undefined, idempotencyKey)
    case 'replay':
      return replied(started.reply)
    case 'replayed_failure':
      return failed(new ApiError(started.code), started.requestId, idempotencyKey)
    case 'running':
      return end!.kind === 'completed'
        ? replied(end!.reply)
        : failed(new ApiError(end!.code, undefined, retryAfter(end!)), started.turn.requestId, idempotencyKey)
  }
}

const retryAfter = ({ retryAfterSeconds }: { retryAfterSeconds?: number | undefined }): { retryAfterSeconds?: number } =>
  retryAfterSeconds === undefined ? {} : { retryAfterSeconds }

const replied = (reply: StoredReply): ToolOutcome => {
  const { content, requestId, conversationId, promptTokens, completionTokens, charged } = reply
  const usage = { promptTokens, completionTokens, chargedUsd: formatUsd(charged) }
  return { kind: 'replied', reply: { content, requestId, conversationId, usage, incomplete: isCutOff(reply) } }
}

const failed = (
  { code, message, retryAfterSeconds, location }: ApiError,
  requestId: string | undefined,
  idempotencyKey: string,
): ToolOutcome => ({
  kind: 'failed',
  code,
  message,
  requestId,
  retryAfterSeconds,
  idempotencyKey,
  location,
})

/** The refusal is a result of the tool with status 200, and counts as a refused request nevertheless. */
function refused(raw: IncomingMessage, { metrics }: Exchange, code: ApiError['code']): void {
  note(raw, { code })
  metrics.refused(code)
}
