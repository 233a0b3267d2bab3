/** The admin route for what an operator should look at, and its response. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { Type } from '../edge/schema.ts'
import { SpendingAnswer, spendingExample, writeSpending } from './agents/spend-limit-fields.ts'
import { Count, Time, idOf } from './answer-fields.ts'
import { about, answers } from './answers.ts'
import { writeTime } from './fields.ts'

type Found = Awaited<ReturnType<AdminCalls['listAttention']>>[number]

const FailedDocument = Type.Object({
  kind: Type.Literal('document'),
  agent_id: idOf('agt'),
  document_id: idOf('doc'),
  title: Type.String(),
  reason: Type.String({ description: 'Why it could not be indexed.' }),
  since: Time,
})
const UsedLimit = Type.Object(
  { kind: Type.Literal('spend_limit'), agent_id: idOf('agt'), ...SpendingAnswer.properties },
  { description: 'The present window of a spend limit of which at least 80 percent are spent, held or unpaid.' },
)
const FailingWebhook = Type.Object({
  kind: Type.Literal('webhook'),
  webhook_id: idOf('whk'),
  url: Type.String(),
  disabled: Type.Boolean({ description: 'The service disabled it.' }),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was disabled, or why an attempt failed.' }),
  deliveries: Type.Integer({ ...Count, description: 'That failed since the last success, or wait for another attempt. At most 100.' }),
  since: Time,
})
export const AttentionAnswer = Type.Union([FailedDocument, UsedLimit, FailingWebhook])

const example = [
  { kind: 'spend_limit', agent_id: 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc', ...spendingExample, spent_usd: '4.90310000' },
  {
    kind: 'webhook',
    webhook_id: 'whk_01jd3v9qk8x2m5n7p4r6t8w0yh',
    url: 'https://shop.example/turnkeep',
    disabled: false,
    reason: 'the endpoint answered 503',
    deliveries: 12,
    since: '2026-11-21T14:11:58.332Z',
  },
]

export const attentionRoutes: FastifyPluginAsyncTypebox = async (app) => {
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
        response: answers({ ref: Type.Object({ data: Type.Array(AttentionAnswer) }), example: { data: example } }),
      },
    },
    async (request) => ({ data: (await request.admin.listAttention()).map(writeAttention) }),
  )
}

function writeAttention(found: Found): object {
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
