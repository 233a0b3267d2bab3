/** The admin routes for the feedback on turns (`feedback`): the list, and what an operator sets or removes. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { about, answers, gone, pageOf } from './answers.ts'
import { Feedback, StoredFeedback, writeStatus } from './turn-answers.ts'
import { TurnParams, idGiven, pageQuery, readPage, wellFormed, writePage, writeTime } from './fields.ts'
import { FeedbackRequest } from '../public/turn-schemas.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Given = Awaited<ReturnType<AdminCalls['putFeedback']>>
type Listed = Awaited<ReturnType<AdminCalls['listFeedback']>>['data'][number]
type Fields = Omit<Static<typeof StoredFeedback.ref>, 'request_id'>

const closed = { additionalProperties: false } as const

const FeedbackQuery = Type.Object(
  {
    ...pageQuery,
    agent_id: Type.Optional(idGiven('agt', 'Only feedback on turns of this agent.')),
    rating: Type.Optional(Type.Enum(['up', 'down'], { description: 'Only feedback with this rating.' })),
    tag: Type.Optional(
      Type.String({ ...wellFormed({ minLength: 1, maxLength: 64 }), description: 'Only feedback with this tag; exact match.' }),
    ),
  },
  closed,
)

export const feedbackRoutes: TypedRoutes = async (app) => {
  app.put(
    '/turns/:request_id/feedback',
    {
      schema: {
        ...about(
          'History',
          'putFeedback',
          'Set the feedback on a turn',
          'Replaces the feedback on the turn, whoever gave it. The same feedback again changes nothing. A turn that still runs has no feedback yet. The audit log says who changed it, without the comment and the tags.',
        ),
        params: TurnParams,
        body: FeedbackRequest.ref,
        response: answers(StoredFeedback, 'not_found'),
      },
    },
    async (request) => {
      const { rating, comment = null, tags = [] } = request.body
      const given = await request.admin.putFeedback(request.params.request_id, { rating, comment, tags: [...new Set(tags)] })
      return { request_id: given.requestId, ...writeFeedback(given) }
    },
  )

  app.delete(
    '/turns/:request_id/feedback',
    {
      schema: {
        ...about(
          'History',
          'removeFeedback',
          'Remove the feedback on a turn',
          'The turn then has no feedback. Removing it again is not an error.',
        ),
        params: TurnParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.removeFeedback(request.params.request_id)
      return reply.code(204).send()
    },
  )

  app.get(
    '/feedback',
    {
      schema: {
        ...about(
          'History',
          'listFeedback',
          'List feedback, the newest changes first',
          'Callers give feedback on turns. A turn has at most one; the last one counts. Erasing a conversation erases its feedback.',
        ),
        querystring: FeedbackQuery,
        response: answers(pageOf(Feedback)),
      },
    },
    async (request) => {
      const { agent_id: agentId, rating, tag, ...page } = request.query
      return writePage(await request.admin.listFeedback({ agentId, rating, tag }, readPage(page)), writeListedFeedback)
    },
  )
}

export const writeFeedback = ({ rating, comment, tags, createdAt, updatedAt }: Given): Fields => ({
  rating,
  comment,
  tags,
  created_at: writeTime(createdAt),
  updated_at: writeTime(updatedAt),
})

const writeListedFeedback = (feedback: Listed): Static<typeof Feedback.ref> => ({
  request_id: feedback.requestId,
  agent_id: feedback.agentId,
  conversation_id: feedback.conversationId,
  external_user_id: feedback.externalUserId,
  key_id: feedback.apiKeyId,
  ...writeStatus(feedback.state),
  message: feedback.message,
  reply: feedback.reply,
  ...writeFeedback(feedback),
})
