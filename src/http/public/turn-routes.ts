/** The turn resource of the public API: status, stream, cancel and feedback of a turn that the API key started (`turn.resource`). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { failures, invalid } from '../../errors.ts'
import { isCutOff } from '../../finish-reason.ts'
import { formatUsd } from '../../ledger/ledger.ts'
import type { Reader, TurnResource, TurnStatus, TurnWanted } from '../../turn/turn-resource.ts'
import { note } from '../edge/access-log.ts'
import { receiveJson } from '../edge/request-body.ts'
import { refuseBrokenQuery } from './conversation-routes.ts'
import { rateHeaders, readerOf } from './caller.ts'
import { lastEventId, readEventId } from './event-id.ts'
import type { EventPosition } from './event-id.ts'
import { streamRun } from './event-stream.ts'
import type { StreamOptions } from './event-stream.ts'
import { TurnEvents } from './turn-events.ts'
import type { Turn } from './turn-schemas.ts'
import { cancelSchema, feedbackSchema, turnOfKeySchema, turnSchema, turnStreamSchema } from './turn-schemas.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

export const turnRoutes: TypedRoutes<{ turns: { resource: TurnResource }; streams: StreamOptions }> = async (app, options) => {
  const { streams } = options
  const { resource } = options.turns
  app.addHook('preParsing', receiveJson)

  app.get('/v1/agents/:agent_id/turns', { schema: turnOfKeySchema, preValidation: refuseBrokenQuery }, async (request, reply) => {
    const { idempotency_key: idempotencyKey } = request.query
    const status = await resource.findOfKey({ ...readerOf(request), idempotencyKey: keyOf(idempotencyKey) })
    return answerTurn(request, reply, status)
  })

  app.get('/v1/agents/:agent_id/turns/:request_id', { schema: turnSchema }, async (request, reply) => {
    return answerTurn(request, reply, await resource.find(wantedBy(request)))
  })

  app.get('/v1/agents/:agent_id/turns/:request_id/stream', { schema: turnStreamSchema }, async (request, reply) =>
    followTurn(request, reply, wantedBy(request), request.query.after, { resource, streams }),
  )

  app.post('/v1/agents/:agent_id/turns/:request_id/cancel', { schema: cancelSchema }, async (request, reply) => {
    refuseBody(request.body)
    return answerTurn(request, reply, await resource.cancel(wantedBy(request)))
  })

  app.post('/v1/agents/:agent_id/turns/:request_id/feedback', { schema: feedbackSchema }, async (request, reply) => {
    const { rating, comment = null, tags = [] } = request.body
    const given = await resource.giveFeedback(wantedBy(request), { rating, comment, tags: [...new Set(tags)] })
    return reply.headers(rateHeaders(request.caller.figures)).send({
      request_id: given.requestId,
      rating: given.rating,
      comment: given.comment,
      tags: given.tags,
      created_at: time(given.createdAt),
      updated_at: time(given.updatedAt),
    })
  })
}

/** `idempotency.key-text`: no key of a caller has control characters, but the keys that the server makes have (`openai.retry-joins`). */
function keyOf(idempotencyKey: string): string {
  if (/\p{Cc}/u.test(idempotencyKey)) throw invalid('idempotency_key', 'idempotency_key must not contain control characters.')
  return idempotencyKey
}

type TurnRequest = FastifyRequest<{ Params: { agent_id: string; request_id: string } }>

function wantedBy(request: TurnRequest): Reader & { requestId: string } {
  return { requestId: request.params.request_id, ...readerOf(request) }
}

/** For actions whose request has no fields. An empty object is accepted, because some clients always send one. */
export function refuseBody(body: unknown): void {
  if (body === undefined || (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0)) return
  throw invalid(null, 'This request has no body.')
}

/** Streams a turn, whether or not it still runs. Throws ApiError before the stream has started. */
export async function followTurn(
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: TurnWanted,
  afterQuery: string | undefined,
  { resource, streams }: { resource: Pick<TurnResource, 'open'>; streams: StreamOptions },
): Promise<FastifyReply | void> {
  return continueTurn(request, reply, wanted, readAfter(request, afterQuery), { resource, streams })
}

/** `stream.resume`: the events of the turn after `after`, or 204 after the last one. */
export async function continueTurn(
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: TurnWanted,
  after: EventPosition | undefined,
  { resource, streams }: { resource: Pick<TurnResource, 'open'>; streams: StreamOptions },
): Promise<FastifyReply | void> {
  const { turn, status } = await resource.open(wanted)
  if (status.state !== 'running' && after === lastEventId) return reply.code(204).send()
  note(request.raw, { requestId: wanted.requestId, transport: 'stream' })
  // The last event was that of a run that was released, and the turn has run again since: its text starts from the beginning.
  const position = after === lastEventId ? undefined : after
  reply.hijack()
  return streamRun(reply.raw, turn, new TurnEvents(turn, position), '', streams, position)
}

/** A client that reconnects by itself sends the header, while the query keeps the event of its first request, so the header comes first. */
function readAfter({ headers }: FastifyRequest, query: string | undefined): EventPosition | undefined {
  const header = headers['last-event-id']
  const id = typeof header === 'string' && header !== '' ? header : query
  if (id === undefined) return undefined
  const position = readEventId(id)
  if (position === undefined)
    throw invalid(id === header ? 'Last-Event-ID' : 'after', 'Last-Event-ID (or after) must be the ID of an event of this turn.')
  return position
}

/** Also sets the headers of the rate limit. */
function answerTurn(request: FastifyRequest, reply: FastifyReply, status: TurnStatus): Turn {
  reply.headers(rateHeaders(request.caller.figures))
  return writeTurn(status)
}

const writeTurn = ({ reply, usage, failureCode, ...turn }: TurnStatus): Turn => ({
  request_id: turn.requestId,
  conversation_id: turn.conversationId,
  external_user_id: turn.externalUserId,
  status: turn.state,
  created_at: time(turn.createdAt),
  ended_at: turn.endedAt === null ? null : time(turn.endedAt),
  message: reply && {
    id: reply.messageId,
    role: 'assistant',
    content: reply.content,
    created_at: time(reply.createdAt),
    ...(isCutOff(reply) ? { incomplete: true } : {}),
  },
  usage: usage && {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    charged_usd: formatUsd(usage.charged),
    // `billing.token-kinds`, `billing.tool-price`
    prompt_tokens_details: { cached_tokens: usage.cachedPromptTokens, cache_write_tokens: usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    tool_calls_usd: formatUsd(usage.toolCalls),
  },
  error: turn.state === 'running' || failureCode === null ? null : { code: failureCode, message: failures[failureCode].message },
  finish_reason: reply && reply.finishReason,
  cancel_requested: turn.cancelRequested,
})

/** `time.format`. */
const time = (epochMs: number): string => new Date(epochMs).toISOString()
