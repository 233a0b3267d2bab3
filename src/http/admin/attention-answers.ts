/** The response of the admin route for what an operator should look at. */
import { SpendingAnswer, spendingExample } from './agents/spend-limit-fields.ts'
import { Count, Time, idOf } from './answer-fields.ts'
import { Type } from '../edge/schema.ts'

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

export const attentionExample = [
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
