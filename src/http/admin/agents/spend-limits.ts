/** The admin routes for spend limits of end users, and for what is spent (`billing.spend-limit`). The limits of an agent are among its fields. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { TimeOrNull } from '../answer-fields.ts'
import { about, answers, gone } from '../answers.ts'
import { AgentParams, ExternalUserId, writeTime } from '../fields.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'
import {
  Limits,
  NewLimits,
  SpendingAnswer,
  Warnings,
  readSpendLimits,
  spendingExample,
  writeSpendLimits,
  writeSpending,
} from './spend-limit-fields.ts'

const EndUserQuery = Type.Object({ external_user_id: ExternalUserId }, { additionalProperties: false })

const Body = Type.Object(
  { external_user_id: ExternalUserId, spend_limits: NewLimits },
  {
    additionalProperties: false,
    examples: [{ external_user_id: 'customer-4711', spend_limits: [{ scope: 'end_user', usd: '20.00', window: 'month' }] }],
  },
)

const endUserAnswer = {
  ref: Type.Object({
    external_user_id: Type.String(),
    spend_limits: Type.Union([Limits, Type.Null()], { description: 'Null: the limits that the agent has for end users apply.' }),
    updated_at: TimeOrNull,
    warnings: Warnings,
    spending: Type.Array(SpendingAnswer, {
      description: 'The present windows of the limits that apply to this end user, and of the keys.',
    }),
  }),
  example: {
    external_user_id: 'customer-4711',
    spend_limits: [{ scope: 'end_user', usd: '5.00000000', window: 'day' }],
    updated_at: '2026-11-21T09:00:00.000Z',
    warnings: [],
    spending: [spendingExample],
  },
}

export const spendLimitRoutes: TypedRoutes = async (app) => {
  app.get(
    '/agents/:id/spending',
    {
      schema: {
        ...about(
          'Agents',
          'listSpending',
          'Get what is spent under the limits of an agent',
          'Returns the present window of each limit of the agent, of its keys (up to 100, those that spent most), and of its end users (up to 20 for each window, those that are closest to their limit). For one end user, get its limits.',
        ),
        params: AgentParams,
        response: answers({ ref: Type.Object({ data: Type.Array(SpendingAnswer) }), example: { data: [spendingExample] } }, 'not_found'),
      },
    },
    async (request) => ({ data: (await request.admin.listSpending(request.params.id)).map(writeSpending) }),
  )

  app.get(
    '/agents/:id/end-users/limits',
    {
      schema: {
        ...about(
          'Agents',
          'findEndUserLimits',
          'Get the spend limits of an end user',
          'Also for an end user who has never sent a message.',
        ),
        params: AgentParams,
        querystring: EndUserQuery,
        response: answers(endUserAnswer, 'not_found'),
      },
    },
    async (request) => {
      const endUser = { agentId: request.params.id, externalUserId: request.query.external_user_id }
      return writeLimits(endUser.externalUserId, await request.admin.findEndUserLimits(endUser))
    },
  )

  app.put(
    '/agents/:id/end-users/limits',
    {
      schema: {
        ...about(
          'Agents',
          'putEndUserLimits',
          'Set the spend limits of an end user',
          'They replace the limits of scope `end_user` that the agent has. With [], only the limits of the key and of the agent apply. A change applies to the next message.',
        ),
        params: AgentParams,
        body: Body,
        response: answers(endUserAnswer, 'not_found'),
      },
    },
    async (request) => {
      const endUser = { agentId: request.params.id, externalUserId: request.body.external_user_id }
      const limits = readSpendLimits(request.body.spend_limits, 'end_user')
      return writeLimits(endUser.externalUserId, await request.admin.putEndUserLimits(endUser, limits))
    },
  )

  app.delete(
    '/agents/:id/end-users/limits',
    {
      schema: {
        ...about(
          'Agents',
          'deleteEndUserLimits',
          'Remove the spend limits of an end user',
          'The limits that the agent has for end users apply again. Removing them again is not an error.',
        ),
        params: AgentParams,
        querystring: EndUserQuery,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.deleteEndUserLimits({ agentId: request.params.id, externalUserId: request.query.external_user_id })
      return reply.code(204).send()
    },
  )
}

const writeLimits = (
  externalUserIdOf: string,
  { own, spending, warnings }: Awaited<ReturnType<AdminCalls['findEndUserLimits']>>,
): Static<typeof endUserAnswer.ref> => ({
  external_user_id: externalUserIdOf,
  spend_limits: own ? writeSpendLimits(own.limits) : null,
  updated_at: own ? writeTime(own.updatedAt) : null,
  warnings,
  spending: spending.map(writeSpending),
})
