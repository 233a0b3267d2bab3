/** Erasure on the operator's word, on the wire. Answers how much is gone; a second time there is nothing left, and that is no error. Ruling `erase`. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiError } from '../../errors.ts'
import type { EraseOutcome, Erasure } from '../../turn/erasure.ts'
import { Erased, about, answers } from './answers.ts'
import { AgentParams, ConversationParams, wellFormed } from './fields.ts'
import { Type } from '../edge/schema.ts'

const EndUser = Type.Object(
  {
    external_user_id: Type.String({
      ...wellFormed({ minLength: 1, maxLength: 255 }),
      description: 'Exactly as the callers give it.',
      examples: ['customer-4711'],
    }),
  },
  { additionalProperties: false },
)

export const erasureRoutes: FastifyPluginAsyncTypebox<{ erasure: Erasure }> = async (app, { erasure }) => {
  app.delete(
    '/conversations/:id',
    {
      schema: {
        ...about(
          'Erasure',
          'eraseConversation',
          'Erase the text of a conversation; figures and ledger stay',
          'For good. While a turn of it runs: 409 `conflict`. A second time there is nothing left, and that is no error.',
        ),
        params: ConversationParams,
        response: answers(Erased, 'not_found', 'conflict'),
      },
    },
    async (request) => writeErased(await erasure.eraseConversation(request.params.id, { requestId: request.id }), 'conversation'),
  )

  app.delete(
    '/agents/:id/end-users',
    {
      schema: {
        ...about(
          'Erasure',
          'eraseEndUser',
          'Erase an end user: every conversation with any key of the agent',
          'For good. While a turn of theirs runs: 409 `conflict`. A second time there is nothing left, and that is no error.',
        ),
        params: AgentParams,
        querystring: EndUser,
        response: answers(Erased, 'validation_error', 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const endUser = { agentId: request.params.id, externalUserId: request.query.external_user_id }
      return writeErased(await erasure.eraseEndUser(endUser, { requestId: request.id }), 'agent')
    },
  )
}

function writeErased(outcome: EraseOutcome, what: string): object {
  switch (outcome.kind) {
    case 'erased':
      return { conversations: outcome.conversations, turns: outcome.turns, messages: outcome.messages }
    case 'not_found':
      throw new ApiError('not_found', `There is no such ${what}.`)
    case 'busy':
      throw new ApiError('conflict', 'A turn is running; erase when it has ended.')
    case 'unavailable':
      throw new ApiError('service_unavailable')
  }
}
