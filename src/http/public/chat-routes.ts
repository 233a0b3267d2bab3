/** POST …/chat and …/chat/stream: validates a message (`order.validation`), runs the turn and writes its outcome as JSON or as events. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'
import type { BeginResult, RunningTurn, TurnEnd, TurnRequest } from '../../turn/outcome.ts'
import { noteBeginResult } from '../edge/access-log.ts'
import { chatSchema, chatStreamSchema } from './schemas.ts'
import type { AcceptedTurn, ChatRequest } from './schemas.ts'
import { rateHeaders, readerOf } from './caller.ts'
import { chatResponse } from './chat-response.ts'
import type { StoredReply } from './chat-response.ts'
import { jsonType, sendFailure } from '../edge/envelope.ts'
import { lastEventId, readEventId } from './event-id.ts'
import { streamReply, streamRun } from './event-stream.ts'
import type { StreamOptions } from './event-stream.ts'
import { TurnEvents } from './turn-events.ts'
import { continueTurn } from './turn-routes.ts'
import { readIdempotencyKey } from './idempotency-key.ts'
import { tooLong } from '../edge/invalid-input.ts'
import { prefersAsync, readTraceparent } from './request-headers.ts'
import type { TurnResource } from '../../turn/turn-resource.ts'
import { readJson } from '../edge/request-body.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

/** The part of the turn module that these routes use. */
export type Turns = { begin(request: TurnRequest): Promise<BeginResult>; resource: TurnResource }

export type Completed = Extract<TurnEnd, { kind: 'completed' }>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the chat routes before the body is parsed. */
    idempotencyKey: string
  }
}

export const chatRoutes: TypedRoutes<{ turns: Turns; streams: StreamOptions }> = async (app, { turns, streams }) => {
  app.addHook('preParsing', async (request, reply) => {
    // mutant: order.validation
    request.body = await readJson(request, reply, () => void (request.idempotencyKey = readIdempotencyKey(request.raw)))
  })

  app.post('/v1/agents/:agent_id/chat', { schema: chatSchema }, async (request, reply) => {
    const { message } = request.body
    const started = await turns.begin(turnRequest(request))
    noteBeginResult(request.raw, started)
    if (started.kind === 'running' && prefersAsync(request.raw)) {
      await beforeSend(reply, message, streams)
      return sendAccepted(request, reply, started.turn)
    }
    const end = await sendUnlessReply(request, reply, started, message, streams)
    return end ? sendReply(request, reply, end.reply) : reply
  })

  app.post('/v1/agents/:agent_id/chat/stream', { schema: chatStreamSchema }, async (request, reply) => {
    return sendStream(request, reply, await turns.begin(turnRequest(request)), { turns, streams })
  })
}

/**
 * `stream.resume`: a client of server-sent events repeats its request with the ID of the last event that it has, also after a stream that has
 * ended. The turn is that of the same key, so nothing is generated or charged again. An ID that is not of this service, and one that an
 * earlier message left in the client, are ignored.
 */
async function sendStream(
  request: FastifyRequest<{ Body: ChatRequest }>,
  reply: FastifyReply,
  started: BeginResult,
  { turns, streams }: { turns: Turns; streams: StreamOptions },
): Promise<FastifyReply | void> {
  const { message } = request.body
  const header = request.headers['last-event-id']
  const after = typeof header === 'string' ? readEventId(header) : undefined
  // mutant: stream.resume
  if (after === undefined) return sendBeginResult(request, reply, started, message, streams)
  const reader = readerOf(request)
  // A released turn runs again: its text may be the one that the client has.
  if (started.kind === 'running' && started.turn.fence > 1 && after !== lastEventId) {
    noteBeginResult(request.raw, started, 'stream')
    reply.hijack()
    return streamRun(reply.raw, started.turn, new TurnEvents(started.turn, after), message, streams, after)
  }
  const requestId = startedBefore(started)
  if (requestId === undefined) return sendBeginResult(request, reply, started, message, streams)
  noteBeginResult(request.raw, started, 'stream')
  reply.header('x-request-id', requestId)
  return continueTurn(request, reply, { requestId, ...reader }, after, { resource: turns.resource, streams })
}

/** The request ID of a turn that an earlier request with this key and body has started; undefined if this request has. */
function startedBefore(started: BeginResult): string | undefined {
  if (started.kind === 'replay') return started.reply.requestId
  if (started.kind === 'replayed_failure') return started.requestId
  return started.kind === 'refused' && started.code === 'idempotency_in_progress' ? started.blockedBy : undefined
}

const beforeSend = (reply: FastifyReply, message: string, { failpoints }: StreamOptions): Promise<void> =>
  failpoints.reach('answer.before-send', message, () => void reply.raw.destroy())

/**
 * Waits for the end of a turn. Returns a reply for its caller to send; a failure is sent. Throws an ApiError if the turn was not started.
 * `messageField`: the field of the request that has the message.
 */
export async function sendUnlessReply(
  request: FastifyRequest,
  reply: FastifyReply,
  started: BeginResult,
  message: string,
  streams: StreamOptions,
  messageField = 'message',
): Promise<Completed | undefined> {
  if (started.kind === 'running') await started.turn.end
  await beforeSend(reply, message, streams)
  switch (started.kind) {
    case 'replay':
      return { kind: 'completed', reply: started.reply }
    case 'running': {
      const end = await started.turn.end
      if (end.kind === 'completed') return end
      return void sendFailure(request, reply, failureOf(end), started.turn.requestId)
    }
    default:
      return void sendRefusal(request, reply, started, messageField)
  }
}

type NotStarted = Extract<BeginResult, { kind: 'refused' | 'message_too_long' | 'replayed_failure' }>

/** Sends the stored failure of a turn. Throws an ApiError if no turn was started. `messageField`: the field of the request that has the message. */
export function sendRefusal(request: FastifyRequest, reply: FastifyReply, started: NotStarted, messageField = 'message'): FastifyReply {
  switch (started.kind) {
    case 'refused':
      throw refusalOf(request, started)
    case 'message_too_long':
      throw invalid(messageField, tooLong('message', started.longest))
    case 'replayed_failure':
      return sendFailure(request, reply, new ApiError(started.code), started.requestId, true)
  }
}

/** Streams a turn as events. Throws an ApiError if the turn was rejected, which is answered with JSON because no stream has started. */
export async function sendBeginResult(
  request: FastifyRequest,
  reply: FastifyReply,
  started: BeginResult,
  message: string,
  streams: StreamOptions,
): Promise<void> {
  noteBeginResult(request.raw, started, 'stream')
  switch (started.kind) {
    case 'replay':
      reply.hijack()
      return streamReply(reply.raw, { kind: 'completed', reply: started.reply }, new TurnEvents(started.reply), message, streams)
    case 'running':
      reply.hijack()
      return streamRun(reply.raw, started.turn, new TurnEvents(started.turn), message, streams)
    default:
      return void sendRefusal(request, reply, started)
  }
}

/** `billing.spend-limit`: only the store knows when a window ends. */
const failureOf = ({ code, retryAfterSeconds }: { code: FailureCode; retryAfterSeconds?: number | undefined }): ApiError =>
  new ApiError(code, undefined, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })

/**
 * `idempotency.in-progress`, `conversation.busy`: leads a caller to the running turn, which it may never have seen a response of. A request in
 * progress has the request ID of its turn, as its replay will.
 */
export function refusalOf(
  { caller }: { caller?: FastifyRequest['caller'] },
  { code, retryAfterSeconds, blockedBy }: Extract<BeginResult, { kind: 'refused' }>,
): ApiError {
  return new ApiError(code, undefined, { retryAfterSeconds, ...blockingTurn(code, blockedBy, caller) })
}

export function blockingTurn(
  code: FailureCode,
  blockedBy: string | undefined,
  caller: FastifyRequest['caller'] | undefined,
): { requestId?: string; location?: string } {
  if (blockedBy === undefined) return {}
  return {
    // An operator in the playground has no API key.
    location: caller ? turnPath(caller.apiKey.agentId, blockedBy) : `/admin/v1/turns/${blockedBy}`,
    ...(code === 'idempotency_in_progress' ? { requestId: blockedBy } : {}),
  }
}

const turnPath = (agentId: string, requestId: string): string => `/v1/agents/${agentId}/turns/${requestId}`

/** Passes both texts on exactly as they were sent: `conversation.identity`, `text.well-formed`. */
function turnRequest(request: FastifyRequest<{ Body: ChatRequest }>): TurnRequest {
  const { id: apiKeyId, agentId, ownerId: shareOf } = request.caller.apiKey
  const { external_user_id: externalUserId, message } = request.body
  const traceparent = readTraceparent(request.raw)
  return { apiKeyId, agentId, idempotencyKey: request.idempotencyKey, externalUserId, message, traceparent, shareOf }
}

/** `turn.background`: the turn is admitted, and its caller does not wait for the reply (RFC 7240). */
const sendAccepted = (request: FastifyRequest, reply: FastifyReply, { requestId, conversationId }: RunningTurn): FastifyReply =>
  reply
    // mutant: turn.background
    .code(202)
    .headers({
      'x-request-id': requestId,
      'content-type': jsonType,
      location: turnPath(request.caller.apiKey.agentId, requestId),
      'preference-applied': 'respond-async',
    })
    .send(JSON.stringify({ request_id: requestId, conversation_id: conversationId, status: 'running' } satisfies AcceptedTurn))

/** Sends the current rate limit headers and the request ID of the turn that produced the reply: `rate.headers`, `idempotency.replay`. */
const sendReply = (request: FastifyRequest, reply: FastifyReply, stored: StoredReply): FastifyReply =>
  reply
    // mutant: rate.headers-2
    .headers(rateHeaders(request.caller.figures))
    .headers({ 'x-request-id': stored.requestId, 'content-type': jsonType })
    .send(chatResponse(stored))
