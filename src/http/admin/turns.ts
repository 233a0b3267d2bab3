/**
 * The admin routes for turns: the list, the details of a turn with the cause of a failure, its stream, and cancel. Only here can an operator
 * see the details of a turn.
 */
import type { Static } from 'typebox'
import { isCutOff } from '../../finish-reason.ts'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, pageOf, streamed } from './answers.ts'
import { writeFeedback } from './feedback.ts'
import { Turn as TurnAnswer, TurnWithSteps, writeStatus } from './turn-answers.ts'
import type { StoredMessage } from './turn-answers.ts'
import {
  ExternalUserId,
  TurnParams,
  idGiven,
  EmptyBody,
  pageQuery,
  readPage,
  writePage,
  writePrice,
  writeTime,
  writeTimeOrNull,
  writeUsd,
} from './fields.ts'
import { writeCalculation, writeDetails } from './price-answers.ts'
import { inWords } from '../edge/invalid-input.ts'
import type { StreamOptions } from '../public/event-stream.ts'
import { followTurn } from '../public/turn-routes.ts'
import { turnStatuses } from '../public/turn-schemas.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'
import { operatorShare } from '../../turn/outcome.ts'

type Message = Awaited<ReturnType<AdminCalls['listMessages']>>['data'][number]
type Turn = Awaited<ReturnType<AdminCalls['listTurns']>>['data'][number]
type DetailedTurn = Awaited<ReturnType<AdminCalls['findTurn']>>
type Step = DetailedTurn['steps'][number]
type StepAnswer = Static<typeof TurnWithSteps.ref>['steps'][number]

const closed = { additionalProperties: false } as const

const TurnState = Type.Enum([...turnStatuses], { description: 'Only turns with this status.' })
const TraceId = Type.String({
  pattern: inWords('^[0-9a-f]{32}$', '32 lower-case hexadecimal digits'),
  description: 'Only turns whose request had this trace ID in its `traceparent` header.',
  examples: ['4bf92f3577b34da6a3ce929d0e0e4736'],
})
const TurnQuery = Type.Object(
  {
    ...pageQuery,
    status: Type.Optional(TurnState),
    agent_id: Type.Optional(idGiven('agt', 'Only turns of this agent.')),
    conversation_id: Type.Optional(idGiven('conv', 'Only turns of this conversation.')),
    external_user_id: Type.Optional(
      Type.String({ ...ExternalUserId, description: 'Only turns of this end user of the agent; exact match. Needs `agent_id`.' }),
    ),
    trace_id: Type.Optional(TraceId),
  },
  closed,
)

export const turnRoutes: TypedRoutes<{ streams: StreamOptions }> = async (app, { streams }) => {
  app.get(
    '/turns',
    {
      schema: {
        ...about('History', 'listTurns', 'List turns, newest first', 'Includes the turns of all keys, whatever their status.'),
        querystring: TurnQuery,
        response: answers(pageOf(TurnAnswer)),
      },
    },
    async (request) => {
      const { status: state, agent_id: agentId, conversation_id: conversationId, external_user_id: externalUserId, ...rest } = request.query
      const { trace_id: traceId, ...page } = rest
      const filter = { state, agentId, conversationId, externalUserId, traceId }
      const withCause = request.principal.permissions.has('conversations')
      return writePage(await request.admin.listTurns(filter, readPage(page)), withCause ? writeTurn : writeWithoutCause)
    },
  )

  app.get(
    '/turns/:request_id',
    {
      schema: {
        ...about(
          'History',
          'findTurn',
          'Get a turn with its steps and feedback',
          'Returns the status, the cost, the cause of a failure, the feedback and, for 30 days, the steps of the turn.',
        ),
        params: TurnParams,
        response: answers(TurnWithSteps, 'not_found'),
      },
    },
    async (request) => writeTurnWithSteps(await request.admin.findTurn(request.params.request_id)),
  )

  app.get(
    '/turns/:request_id/stream',
    {
      schema: {
        ...about(
          'History',
          'streamTurn',
          'Follow a turn, from its first delta or after an event',
          'Streams the same events as the public API, whichever process runs the turn. With the header `Last-Event-ID`, or `after`, it continues after that event. Disconnecting does not affect the turn. After the last event of a turn that has ended, the response is 204.',
        ),
        params: TurnParams,
        querystring: Type.Object(
          {
            after: Type.Optional(
              Type.String({ maxLength: 64, description: 'The `id` of an event. Like the header `Last-Event-ID`, which takes precedence.' }),
            ),
          },
          closed,
        ),
        response: streamed('not_found'),
      },
    },
    async (request, reply) => {
      const requestId = request.params.request_id
      const wanted = { requestId, apiKeyId: undefined, shareOf: operatorShare }
      const resource = request.modules.turns
      // `audit.reads`; an unknown turn is a 404 and no reading.
      await resource.find(wanted)
      // mutant: audit.reads-2
      await request.admin.recordTurnReading(requestId)
      return followTurn(request, reply, wanted, request.query.after, { resource, streams: { ...streams, access: request.access } })
    },
  )

  app.post(
    '/turns/:request_id/cancel',
    {
      schema: {
        ...about(
          'History',
          'cancelTurn',
          'Cancel a turn',
          'Before any text was generated, the turn ends as `cancelled`, and nothing is charged except finished tool calls that have a price. After that, the text so far becomes the reply, with `incomplete: true`, and is charged. Has no effect on a turn that has ended, and can be repeated. The turn may still be running when the response arrives; `cancel_requested_at` is set then.',
        ),
        params: TurnParams,
        body: EmptyBody,
        response: answers(TurnWithSteps, 'not_found'),
      },
    },
    async (request) => {
      const requestId = request.params.request_id
      const turn = await request.admin.findTurn(requestId)
      if (turn.state !== 'running') return writeTurnWithSteps(turn)
      await request.modules.cancelTurn(requestId)
      return writeTurnWithSteps(await request.admin.findTurn(requestId))
    },
  )
}

export const writeTurn = (turn: Turn): Static<typeof TurnAnswer.ref> => ({
  request_id: turn.id,
  conversation_id: turn.conversationId,
  external_user_id: turn.externalUserId,
  owner_id: turn.ownerId,
  agent_id: turn.agentId,
  agent_version: turn.agentVersion,
  key_id: turn.apiKeyId,
  ...writeStatus(turn.state),
  run: turn.run,
  attempts: turn.attempt,
  price: writePrice(turn.price),
  held_usd: writeUsd(turn.hold),
  usage: turn.usage && {
    ...writeTokens(turn.usage),
    ...writeDetails(turn.usage),
    tool_calls_usd: writeUsd(turn.usage.toolCalls),
  },
  written_off_usd: turn.usage && writeUsd(turn.usage.writtenOff),
  incomplete: isCutOff(turn),
  finish_reason: turn.finishReason,
  failure: turn.failure && { code: turn.failure.code, cause_kind: turn.failure.causeKind, cause: turn.failure.cause },
  first_delta_ms: turn.firstDeltaMs,
  traceparent: turn.traceparent,
  created_at: writeTime(turn.createdAt),
  started_at: writeTime(turn.startedAt),
  cancel_requested_at: writeTimeOrNull(turn.cancelRequestedAt),
  ended_at: writeTimeOrNull(turn.endedAt),
  erased_at: writeTimeOrNull(turn.erasedAt),
})

/** Whoever may not read messages: the cause may contain the words of a provider, which may quote one. */
const writeWithoutCause = (turn: Turn): Static<typeof TurnAnswer.ref> =>
  writeTurn({ ...turn, failure: turn.failure && { ...turn.failure, cause: null } })

const writeTurnWithSteps = (turn: DetailedTurn): Static<typeof TurnWithSteps.ref> => ({
  ...writeTurn(turn),
  price_calculation: turn.charge && writeCalculation(turn.charge),
  feedback: turn.feedback && writeFeedback(turn.feedback),
  steps: turn.steps.map(writeStep),
})

type Usage = Pick<Message['turn'], 'promptTokens' | 'completionTokens' | 'usageEstimated' | 'charged'>
type Tokens = Pick<NonNullable<Turn['usage']>, 'promptTokens' | 'completionTokens' | 'estimated' | 'charged'>
type MessageAnswer = Static<typeof StoredMessage.ref>

/** The usage of a turn and whether it was estimated (`billing.usage-missing`). Null if the turn has no usage yet. */
export function writeUsage({ promptTokens, completionTokens, usageEstimated, charged }: Usage): MessageAnswer['turn']['usage'] {
  if (promptTokens === null || completionTokens === null || charged === null) return null
  return writeTokens({ promptTokens, completionTokens, charged, estimated: usageEstimated === true })
}

const writeTokens = ({ promptTokens, completionTokens, charged, estimated }: Tokens): NonNullable<MessageAnswer['turn']['usage']> => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  charged_usd: writeUsd(charged),
  estimated,
})

type Call = Message['toolCalls'][number]

export const writeCall = ({ name, step, arguments: given, result, isError, ms, price }: Call): MessageAnswer['tool_calls'][number] => ({
  name,
  step,
  arguments: given,
  result,
  is_error: isError,
  ms,
  price_usd: price === null ? null : writeUsd(price),
})

const writeStep = (step: Step): StepAnswer => ({
  run: step.run,
  step: step.step,
  part: step.part,
  kind: step.kind,
  payload: writePayload(step),
  created_at: writeTime(step.createdAt),
})

function writePayload(step: Step): StepAnswer['payload'] {
  if (step.kind !== 'model') return step.call && writeCall(step.call)
  const { text, calls, usage, usageEstimated } = step
  const { promptTokens, completionTokens } = usage
  const totals = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
  const written = { ...totals, ...writeDetails(usage), estimated: usageEstimated }
  return { text, tool_calls: calls, usage: written }
}
