/** /v1/responses: the turn of /chat, and the turn resource, in the format of OpenAI's Responses (`openai.same-turn`). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BeginResult, RunningTurn } from '../../turn/outcome.ts'
import type { Reader, TurnStatus } from '../../turn/turn-resource.ts'
import { note, noteBeginResult } from '../edge/access-log.ts'
import { manyValues, receiveJson } from '../edge/request-body.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'
import { rateHeaders, readerOf } from '../public/caller.ts'
import { sendRefusal, sendUnlessReply } from '../public/chat-routes.ts'
import type { Conversations } from '../public/conversation-routes.ts'
import { streamReply, streamRun } from '../public/event-stream.ts'
import type { StreamedRun } from '../public/event-stream.ts'
import { refuseBody } from '../public/turn-routes.ts'
import { detailsOf } from './completion-routes.ts'
import type { OpenAiOptions } from './completion-routes.ts'
import { notFound, OpenAiError } from './openai-error.ts'
import { requestIdOf, responseId } from './openai-ids.ts'
import { beginTurn, receiveMessage } from './openai-request.ts'
import type { ResponseObject } from './openai-schemas.ts'
import { cancelSchema, inputItemsSchema, responseSchema, storedResponseSchema } from './openai-schemas.ts'
import { fenceOfNumber, ResponseEvents } from './response-events.ts'
import { inputItem, responseObject, stateOfReply, stateOfTurn } from './response-object.ts'
import type { ResponseFacts, ResponseState } from './response-object.ts'
import { readInputItemsQuery, readResponseQuery, readResponseRequest } from './response-request.ts'
import type { WantedResponse } from './response-request.ts'

export type ResponseOptions = OpenAiOptions & { conversations: Conversations }

export async function responseRoutes(app: FastifyInstance, options: ResponseOptions): Promise<void> {
  await app.register(createRoute, options)
  await app.register(storedRoutes, options)
}

const createRoute: TypedRoutes<ResponseOptions> = async (app, options) => {
  app.addHook('preParsing', receiveMessage)

  app.post('/v1/responses', { schema: responseSchema, config: { maxJsonValues: manyValues } }, async (request, reply) => {
    const wanted = await readResponseRequest(request, options)
    // What a client repeats of its history may be large, and the turn takes a while.
    request.body = undefined
    const started = await beginTurn(request, wanted, options.turns)
    noteBeginResult(request.raw, started, wanted.stream ? 'stream' : undefined)
    if (wanted.stream) return sendStream(request, reply, started, wanted, options)
    if (wanted.background && started.kind === 'running') {
      const { requestId, conversationId } = started.turn
      reply.header('x-request-id', requestId)
      return answer(request, reply, factsOf(request, wanted, { requestId, conversationId }), { status: 'in_progress' })
    }
    const end = await sendUnlessReply(request, reply, started, wanted.message, options.streams, 'input')
    if (!end) return reply
    reply.header('x-request-id', end.reply.requestId)
    return answer(request, reply, factsOf(request, wanted, end.reply), stateOfReply(end.reply, await detailsOf(request, end, options)))
  })
}

async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  started: BeginResult,
  wanted: WantedResponse,
  options: ResponseOptions,
): Promise<void> {
  if (started.kind !== 'replay' && started.kind !== 'running') return void sendRefusal(request, reply, started, 'input')
  if (started.kind === 'running') {
    const { turn } = started
    reply.hijack()
    const events = new ResponseEvents(factsOf(request, wanted, turn), turn.fence)
    return streamRun(reply.raw, turn, events, wanted.message, options.streams)
  }
  // A replay does not say which attempt it is of.
  const { fence, usage } = await options.turns.resource.find(wantedTurn(request, started.reply.requestId))
  reply.hijack()
  const events = new ResponseEvents(factsOf(request, wanted, started.reply), fence)
  const end = { kind: 'completed', reply: started.reply, details: usage ?? undefined } as const
  return streamReply(reply.raw, end, events, wanted.message, options.streams)
}

const storedRoutes: TypedRoutes<ResponseOptions> = async (app, options) => {
  const { resource } = options.turns
  app.addHook('preParsing', receiveJson)

  app.get('/v1/responses/:response_id', { schema: storedResponseSchema }, async (request, reply) => {
    const { stream, after } = readResponseQuery(request.query)
    const wanted = wantedTurn(request, requestIdIn(request))
    if (stream) return followResponse(request, reply, await resource.open(wanted).catch(notFound), after, options)
    const status = await resource.find(wanted).catch(notFound)
    return answer(request, reply, factsOfTurn(request, status), stateOfTurn(status))
  })

  app.post('/v1/responses/:response_id/cancel', { schema: cancelSchema }, async (request, reply) => {
    refuseBody(request.body)
    const status = await resource.cancel(wantedTurn(request, requestIdIn(request))).catch(notFound)
    return answer(request, reply, factsOfTurn(request, status), stateOfTurn(status))
  })

  app.get('/v1/responses/:response_id/input_items', { schema: inputItemsSchema }, async (request, reply) => {
    const after = readInputItemsQuery(request.query)
    const requestId = requestIdIn(request)
    const message = await resource.readMessage(wantedTurn(request, requestId)).catch(notFound)
    const item = inputItem(requestId, message)
    const data = after === item.id ? [] : [item]
    const ids = { first_id: data[0]?.id ?? null, last_id: data[0]?.id ?? null }
    return reply.headers(rateHeaders(request.caller.figures)).send({ object: 'list', data, ...ids, has_more: false })
  })
}

/** `openai.resume` */
async function followResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  { turn, status }: Awaited<ReturnType<OpenAiOptions['turns']['resource']['open']>>,
  after: number | undefined,
  { streams }: ResponseOptions,
): Promise<void> {
  if (after !== undefined && fenceOfNumber(after) !== status.fence)
    throw new OpenAiError('validation_error', {
      code: 'response_regenerated',
      param: 'starting_after',
      message: 'The text was generated again after this event. Retrieve the response without starting_after, and discard what you have.',
    })
  note(request.raw, { requestId: turn.requestId, transport: 'stream' })
  reply.hijack()
  const events = new ResponseEvents(factsOfTurn(request, status), status.fence, after)
  return streamRun(reply.raw, events.resumesText ? onlyAttempt(turn, status.fence) : turn, events, '', streams)
}

/**
 * For a client that has text of the attempt: it gets no text of another one, which can start after the status was read. What it has is known
 * here only by its number, so it cannot be compared.
 */
const onlyAttempt = (turn: RunningTurn, fence: number): StreamedRun => ({
  requestId: turn.requestId,
  end: turn.end,
  listen: ({ onText, onReset }) =>
    turn.listen({ onText: (text, position) => (turn.fence === fence ? onText(text, position) : onReset()), onReset }),
})

const wantedTurn = (request: FastifyRequest, requestId: string): Reader & { requestId: string } => ({
  // mutant: openai.model-is-the-agent
  requestId,
  ...readerOf(request),
})

/** What is no ID of a response is not found either. */
const requestIdIn = (request: FastifyRequest): string => requestIdOf((request.params as { response_id: string }).response_id) ?? ''

function factsOf(
  request: FastifyRequest,
  { background, previousRequestId, externalUserId }: WantedResponse,
  { requestId, conversationId }: { requestId: string; conversationId: string },
): ResponseFacts {
  const previousResponseId = previousRequestId === undefined ? null : responseId(previousRequestId)
  return { requestId, conversationId, model: request.caller.apiKey.agentId, user: externalUserId, background, previousResponseId }
}

/** Every response can be retrieved, continued and cancelled as one in the background. What else its request had is not stored. */
const factsOfTurn = (request: FastifyRequest, { requestId, conversationId, externalUserId }: TurnStatus): ResponseFacts => ({
  requestId,
  conversationId,
  model: request.caller.apiKey.agentId,
  user: externalUserId,
  background: true,
  previousResponseId: null,
})

/** Also sets the headers of the rate limit. */
function answer(request: FastifyRequest, reply: FastifyReply, facts: ResponseFacts, state: ResponseState): ResponseObject {
  reply.headers(rateHeaders(request.caller.figures))
  return responseObject(facts, state)
}
