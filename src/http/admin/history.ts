/** The admin routes for conversations and turns. Only here can an operator see the details of a turn, including the cause of a failure. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { StoredConversation, StoredMessage, Turn as TurnAnswer, TurnWithSteps, about, answers, pageOf } from './answers.ts'
import {
  idGiven,
  ConversationParams,
  Moment,
  PageQuery,
  pageQuery,
  readMoment,
  readPage,
  wellFormed,
  writePage,
  writePrice,
  writeTime,
  writeTimeOrNull,
  writeUsd,
} from './fields.ts'
import { exampleId } from '../public/answers.ts'
import { Type } from '../edge/schema.ts'

type Conversation = Awaited<ReturnType<AdminCalls['listConversations']>>['data'][number]
type Message = Awaited<ReturnType<AdminCalls['listMessages']>>['data'][number]
type Turn = Awaited<ReturnType<AdminCalls['listTurns']>>['data'][number]
type Step = Awaited<ReturnType<AdminCalls['findTurn']>>['steps'][number]

const closed = { additionalProperties: false } as const

const ConversationQuery = Type.Object(
  {
    ...pageQuery,
    agent_id: Type.Optional(idGiven('agt', 'Only the conversations of this agent.')),
    key_id: Type.Optional(idGiven('key', 'Only the conversations of this API key, by its id (`key_…`).')),
    external_user_id: Type.Optional(
      Type.String({
        ...wellFormed({ minLength: 1, maxLength: 255 }),
        description: 'Only the conversations of this end user; exact match.',
      }),
    ),
    from: Type.Optional(Moment),
    to: Type.Optional(Moment),
  },
  closed,
)
const TurnState = Type.Enum(['running', 'completed', 'failed', 'released'], { description: 'Only turns in this state.' })
const TurnQuery = Type.Object(
  {
    ...pageQuery,
    status: Type.Optional(TurnState),
    agent_id: Type.Optional(idGiven('agt', 'Only turns of this agent.')),
    conversation_id: Type.Optional(idGiven('conv', 'Only turns of this conversation.')),
  },
  closed,
)
const TurnParams = Type.Object({
  request_id: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'The `request_id` that the caller received.',
    examples: [exampleId],
  }),
})

export const conversationRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/conversations',
    {
      schema: {
        ...about(
          'History',
          'listConversations',
          'List conversations, newest first',
          'Includes the conversations of all keys. `from` (inclusive) and `to` (exclusive) filter by creation time.',
        ),
        querystring: ConversationQuery,
        response: answers(pageOf(StoredConversation), 'validation_error'),
      },
    },
    async (request) => {
      const { agent_id: agentId, key_id: keyId, external_user_id: externalUserId, from, to, ...page } = request.query
      const started = { from: readMoment('from', from), to: readMoment('to', to) }
      return writePage(
        await request.admin.listConversations({ agentId, keyId, externalUserId, ...started }, readPage(page)),
        writeConversation,
      )
    },
  )

  app.get(
    '/conversations/:id',
    {
      schema: {
        ...about(
          'History',
          'findConversation',
          'Get a conversation, without its messages',
          'A conversation of any key. After erasure, `external_user_id` is null.',
        ),
        params: ConversationParams,
        response: answers(StoredConversation, 'not_found'),
      },
    },
    async (request) => writeConversation(await request.admin.findConversation(request.params.id)),
  )

  app.get(
    '/conversations/:id/messages',
    {
      schema: {
        ...about(
          'History',
          'listMessages',
          'List the messages of a conversation, newest first',
          'Each message includes its turn, cost, citations and tool calls.',
        ),
        params: ConversationParams,
        querystring: PageQuery,
        response: answers(pageOf(StoredMessage), 'validation_error', 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listMessages(request.params.id, readPage(request.query)), writeMessage),
  )
}

export const turnRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/turns',
    {
      schema: {
        ...about('History', 'listTurns', 'List turns, newest first', 'Includes the turns of all keys in every state.'),
        querystring: TurnQuery,
        response: answers(pageOf(TurnAnswer), 'validation_error'),
      },
    },
    async (request) => {
      const { status: state, agent_id: agentId, conversation_id: conversationId, ...page } = request.query
      return writePage(await request.admin.listTurns({ state, agentId, conversationId }, readPage(page)), writeTurn)
    },
  )

  app.get(
    '/turns/:request_id',
    {
      schema: {
        ...about(
          'History',
          'findTurn',
          'Get a turn with its steps',
          'Returns the state, the cost, the cause of a failure and, for 30 days, the steps of the turn.',
        ),
        params: TurnParams,
        response: answers(TurnWithSteps, 'not_found'),
      },
    },
    async (request) => {
      const turn = await request.admin.findTurn(request.params.request_id)
      return { ...writeTurn(turn), steps: turn.steps.map(writeStep) }
    },
  )
}

const writeConversation = (conversation: Conversation): object => ({
  id: conversation.id,
  agent_id: conversation.agentId,
  key_id: conversation.apiKeyId,
  external_user_id: conversation.externalUserId,
  created_at: writeTime(conversation.createdAt),
  last_message_at: writeTimeOrNull(conversation.lastMessageAt),
  message_count: conversation.messageCount,
})

const writeMessage = ({ id, role, content, createdAt, requestId, citations, toolCalls, turn }: Message): object => ({
  id,
  role,
  content,
  created_at: writeTime(createdAt),
  request_id: requestId,
  citations: citations.map(({ documentId, title, section }) => ({ document_id: documentId, title, section })),
  tool_calls: toolCalls.map(writeCall),
  turn: { state: turn.state, agent_version: turn.agentVersion, usage: writeUsage(turn) },
})

const writeTurn = (turn: Turn): object => ({
  request_id: turn.id,
  conversation_id: turn.conversationId,
  owner_id: turn.ownerId,
  agent_id: turn.agentId,
  agent_version: turn.agentVersion,
  key_id: turn.apiKeyId,
  state: turn.state,
  run: turn.run,
  attempts: turn.attempt,
  price: writePrice(turn.price),
  held_usd: writeUsd(turn.hold),
  usage: turn.usage && writeUsage({ ...turn.usage, usageEstimated: turn.usage.estimated }),
  written_off_usd: turn.usage && writeUsd(turn.usage.writtenOff),
  failure: turn.failure && { code: turn.failure.code, cause_kind: turn.failure.causeKind, cause: turn.failure.cause },
  first_delta_ms: turn.firstDeltaMs,
  created_at: writeTime(turn.createdAt),
  started_at: writeTime(turn.startedAt),
  ended_at: writeTimeOrNull(turn.endedAt),
  erased_at: writeTimeOrNull(turn.erasedAt),
})

type Usage = Pick<Message['turn'], 'promptTokens' | 'completionTokens' | 'usageEstimated' | 'charged'>

/** The usage of a turn and whether it was estimated (`billing.usage-missing`). Null if the turn has no usage yet. */
function writeUsage({ promptTokens, completionTokens, usageEstimated, charged }: Usage): object | null {
  if (promptTokens === null || completionTokens === null || charged === null) return null
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    charged_usd: writeUsd(charged),
    estimated: usageEstimated === true,
  }
}

type Call = Message['toolCalls'][number]

const writeCall = ({ name, step, arguments: given, result, isError, ms }: Call): object => ({
  name,
  step,
  arguments: given,
  result,
  is_error: isError,
  ms,
})

const writeStep = (step: Step): object => ({
  run: step.run,
  step: step.step,
  part: step.part,
  kind: step.kind,
  payload: writePayload(step),
  created_at: writeTime(step.createdAt),
})

function writePayload(step: Step): object | null {
  if (step.kind !== 'model') return step.call && writeCall(step.call)
  const { text, calls, usage, usageEstimated } = step
  const { promptTokens, completionTokens } = usage
  const written = { prompt_tokens: promptTokens, completion_tokens: completionTokens, estimated: usageEstimated }
  return { text, tool_calls: calls, usage: written }
}
