/** POST /v1/chat/completions: the turn of /chat in the format of OpenAI's Chat Completions (`openai.same-turn`). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { UsageDetails } from '../../store/queries/columns.ts'
import type { BeginResult } from '../../turn/outcome.ts'
import { noteBeginResult } from '../edge/access-log.ts'
import { jsonType } from '../edge/envelope.ts'
import { manyValues } from '../edge/request-body.ts'
import { rateHeaders, readerOf } from '../public/caller.ts'
import { sendRefusal, sendUnlessReply } from '../public/chat-routes.ts'
import type { Completed, Turns } from '../public/chat-routes.ts'
import { streamReply, streamRun } from '../public/event-stream.ts'
import type { StreamOptions } from '../public/event-stream.ts'
import { CompletionChunks, completionObject } from './completion-object.ts'
import { findMessage } from './message-input.ts'
import { invalidField } from './openai-error.ts'
import { beginTurn, receiveMessage, refuseOtherModel, userOf } from './openai-request.ts'
import { completionParameters, isRecord, readParameters } from './parameters.ts'
import { completionSchema } from './openai-schemas.ts'

export type OpenAiOptions = { turns: Turns; streams: StreamOptions }

type Wanted = { externalUserId: string; message: string; stream: boolean; includeUsage: boolean }

export async function completionRoutes(app: FastifyInstance, options: OpenAiOptions): Promise<void> {
  app.addHook('preParsing', receiveMessage)

  app.post('/v1/chat/completions', { schema: completionSchema, config: { maxJsonValues: manyValues } }, async (request, reply) => {
    const wanted = readRequest(request)
    // What a client repeats of its history may be large, and the turn takes a while.
    request.body = undefined
    const started = await beginTurn(request, wanted, options.turns)
    noteBeginResult(request.raw, started, wanted.stream ? 'stream' : undefined)
    if (wanted.stream) return sendStream(request, reply, started, wanted, options)
    const end = await sendUnlessReply(request, reply, started, wanted.message, options.streams, 'messages')
    if (!end) return reply
    const object = completionObject(end.reply, await detailsOf(request, end, options), request.caller.apiKey.agentId)
    return reply
      .headers(rateHeaders(request.caller.figures))
      .headers({ 'x-request-id': end.reply.requestId, 'content-type': jsonType })
      .send(JSON.stringify(object))
  })
}

function readRequest(request: FastifyRequest): Wanted {
  const read = readParameters(request.body, completionParameters)
  if (read['model'] === undefined) throw invalidField('model', 'model is required.')
  if (read['messages'] === undefined) throw invalidField('messages', 'messages is required.')
  const message = findMessage('messages', read['messages'] as unknown[])
  const externalUserId = userOf(read, request.caller.apiKey)
  refuseOtherModel(request.caller.apiKey, read['model'] as string)
  const options = read['stream_options']
  return {
    externalUserId,
    message,
    stream: read['stream'] === true,
    includeUsage: isRecord(options) && options['include_usage'] === true,
  }
}

async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  started: BeginResult,
  { message, includeUsage }: Wanted,
  options: OpenAiOptions,
): Promise<void> {
  const formatOf = (requestId: string): CompletionChunks => new CompletionChunks(requestId, request.caller.apiKey.agentId, includeUsage)
  switch (started.kind) {
    case 'replay': {
      const end: Completed = { kind: 'completed', reply: started.reply }
      const details = includeUsage ? await detailsOf(request, end, options) : undefined
      reply.hijack()
      return streamReply(reply.raw, { ...end, details }, formatOf(started.reply.requestId), message, options.streams)
    }
    case 'running':
      reply.hijack()
      return streamRun(reply.raw, started.turn, formatOf(started.turn.requestId), message, options.streams)
    default:
      return void sendRefusal(request, reply, started, 'messages')
  }
}

/** The kinds of tokens. They are not part of a replay, so they are read for it (`billing.token-kinds`). */
export async function detailsOf(
  request: FastifyRequest,
  { reply, details }: Completed,
  { turns }: OpenAiOptions,
): Promise<UsageDetails | undefined> {
  if (details) return details
  const status = await turns.resource.find({ requestId: reply.requestId, ...readerOf(request) })
  return status.usage ?? undefined
}
