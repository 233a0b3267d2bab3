/** Reads the requests of /v1/responses: the body of a new response, and the queries of stored ones. */
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Conversations } from '../public/conversation-routes.ts'
import type { Turns } from '../public/chat-routes.ts'
import { findMessage } from './message-input.ts'
import { invalidField, OpenAiError } from './openai-error.ts'
import { requestIdOf } from './openai-ids.ts'
import { refuseOtherModel, userOf } from './openai-request.ts'
import { readParameters, responseParameters } from './parameters.ts'
import { readerOf } from '../public/caller.ts'
import type { Reader } from '../../turn/turn-resource.ts'

export type WantedResponse = {
  externalUserId: string
  message: string
  stream: boolean
  background: boolean
  /** Of `previous_response_id`. */
  previousRequestId: string | undefined
}

type Modules = { turns: Turns; conversations: Conversations }

/** Throws OpenAiError. */
export async function readResponseRequest(request: FastifyRequest, modules: Modules): Promise<WantedResponse> {
  const read = readParameters(request.body, responseParameters)
  if (read['model'] === undefined) throw invalidField('model', 'model is required.')
  if (read['input'] === undefined) throw invalidField('input', 'input is required.')
  const message = findMessage('input', read['input'] as string | unknown[])
  const externalUserId = userOf(read, request.caller.apiKey)
  if (read['previous_response_id'] !== undefined && read['conversation'] !== undefined)
    throw invalidField('conversation', 'Send previous_response_id or conversation, not both.')
  refuseOtherModel(request.caller.apiKey, read['model'] as string)
  const user = { ...readerOf(request), externalUserId }
  const previousRequestId = await findPrevious(read['previous_response_id'] as string | undefined, user, modules)
  await refuseOtherConversation(read['conversation'], user, modules)
  return { externalUserId, message, stream: read['stream'] === true, background: read['background'] === true, previousRequestId }
}

type User = Reader & { externalUserId: string }

/** `openai.conversation`: a user has one conversation, so this can only be a response of it. */
async function findPrevious(id: string | undefined, { externalUserId, ...reader }: User, { turns }: Modules): Promise<string | undefined> {
  if (id === undefined) return undefined
  const requestId = requestIdOf(id)
  const status = requestId === undefined ? undefined : await turns.resource.find({ requestId, ...reader }).catch(undefinedIfNotFound)
  if (requestId !== undefined && status?.externalUserId === externalUserId) return requestId
  throw new OpenAiError('not_found', {
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: 'This user has no such response.',
  })
}

async function refuseOtherConversation(given: unknown, user: User, { conversations }: Modules): Promise<void> {
  if (given === undefined) return
  const id = typeof given === 'string' ? given : (given as { id: string }).id
  if (id === (await conversations.idOf(user))) return
  throw new OpenAiError('not_found', {
    code: 'conversation_not_found',
    param: 'conversation',
    message: 'This user has no such conversation.',
  })
}

function undefinedIfNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'not_found') return undefined
  throw error
}

/** The query of a stored response. `after`: the number of the last event that the client has. */
export function readResponseQuery(query: unknown): { stream: boolean; after: number | undefined } {
  const { stream = 'false', starting_after: after } = readQuery(query, ['stream', 'starting_after', 'include', 'include_obfuscation'])
  if (stream !== 'true' && stream !== 'false') throw invalidField('stream', 'stream must be true or false.')
  if (after === undefined) return { stream: stream === 'true', after: undefined }
  if (stream === 'false') throw invalidField('starting_after', 'starting_after needs stream=true.')
  if (!/^\d{1,15}$/.test(after)) throw invalidField('starting_after', 'starting_after must be the sequence_number of an event.')
  return { stream: true, after: Number(after) }
}

/** A response has one input item, so only `after` matters. */
export const readInputItemsQuery = (query: unknown): string | undefined => readQuery(query, ['after', 'limit', 'order', 'include'])['after']

/** The include parameters may be repeated, as `include` or `include[]`. */
function readQuery(query: unknown, names: string[]): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [sent, value] of Object.entries(query as Record<string, unknown>)) {
    const name = sent.replace(/\[\d*\]$/, '')
    if (!names.includes(name))
      throw new OpenAiError('validation_error', { code: 'unknown_parameter', message: 'The query has an unknown parameter.' })
    if (typeof value === 'string') read[name] = value
    else if (name !== 'include') throw invalidField(name, `${name} must be sent once.`)
  }
  return read
}
