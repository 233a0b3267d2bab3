/** The admin routes that erase text. They return how much was erased; erasing again returns zeros and is not an error (`erase`). */
import type { Static } from 'typebox'
import { ApiError } from '../../errors.ts'
import type { EraseOutcome } from '../../turn/erasure.ts'
import { Erased, about, answers } from './answers.ts'
import { AgentParams, ConversationParams, ExternalUserId } from './fields.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

const EndUser = Type.Object({ external_user_id: ExternalUserId }, { additionalProperties: false })

export const erasureRoutes: TypedRoutes = async (app) => {
  app.delete(
    '/conversations/:id',
    {
      schema: {
        ...about(
          'Erasure',
          'eraseConversation',
          'Erase the text of a conversation',
          'Permanent. Usage figures and the ledger are kept. Returns 409 `conflict` while a turn of the conversation is running. Erasing it again is not an error.',
        ),
        params: ConversationParams,
        response: answers(Erased, 'not_found', 'conflict'),
      },
    },
    async (request) => writeErased(await request.modules.eraseConversation(request.params.id), 'conversation'),
  )

  app.delete(
    '/agents/:id/end-users',
    {
      schema: {
        ...about(
          'Erasure',
          'eraseEndUser',
          'Erase an end user',
          'Permanently erases every conversation of the end user with any key of the agent, and its spend limits. Usage figures and the ledger are kept. Returns 409 `conflict` while a turn of the end user is running. Erasing again is not an error.',
        ),
        params: AgentParams,
        querystring: EndUser,
        response: answers(Erased, 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const endUser = { agentId: request.params.id, externalUserId: request.query.external_user_id }
      return writeErased(await request.modules.eraseEndUser(endUser), 'agent')
    },
  )
}

function writeErased(outcome: EraseOutcome, what: string): Static<typeof Erased.ref> {
  switch (outcome.kind) {
    case 'erased':
      return { conversations: outcome.conversations, turns: outcome.turns, messages: outcome.messages }
    case 'not_found':
      throw new ApiError('not_found', `This ${what} does not exist.`)
    case 'busy':
      throw new ApiError('conflict', 'A turn is still running. Erase again after it has ended.')
    case 'unavailable':
      throw new ApiError('service_unavailable')
  }
}
