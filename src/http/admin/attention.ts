/** The admin route for what an operator should look at. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'
import { writeSpending } from './agents/spend-limit-fields.ts'
import { about, answers } from './answers.ts'
import { AttentionAnswer, attentionExample } from './attention-answers.ts'
import { writeTime } from './fields.ts'

type Found = Awaited<ReturnType<AdminCalls['listAttention']>>[number]

export const attentionRoutes: TypedRoutes = async (app) => {
  app.get(
    '/attention',
    {
      schema: {
        ...about(
          'Service',
          'listAttention',
          'List what needs attention',
          'Returns documents that could not be indexed, spend limits of which at least 80 percent are used, and webhooks that do not deliver, of all agents: at most 100 documents, 100 windows of each kind, and every webhook. A webhook is listed if the service disabled it, if its last deliveries failed, or if deliveries wait for another attempt.',
        ),
        response: answers({ ref: Type.Object({ data: Type.Array(AttentionAnswer) }), example: { data: attentionExample } }),
      },
    },
    async (request) => ({ data: (await request.admin.listAttention()).map(writeAttention) }),
  )
}

function writeAttention(found: Found): Static<typeof AttentionAnswer> {
  switch (found.kind) {
    case 'document': {
      const { kind, agentId, documentId, title, reason, since } = found
      return { kind, agent_id: agentId, document_id: documentId, title, reason, since: writeTime(since) }
    }
    case 'spend_limit':
      return { kind: found.kind, agent_id: found.agentId, ...writeSpending(found) }
    case 'webhook': {
      const { kind, webhookId, url, isDisabled, reason, deliveries, since } = found
      return { kind, webhook_id: webhookId, url, disabled: isDisabled, reason, deliveries, since: writeTime(since) }
    }
  }
}
