/** The responses of the admin API about webhooks and their deliveries. */
import { deliveryFields } from '../../resources/delivery.ts'
import { webhookFields } from '../../resources/webhook.ts'
import { Count } from './answer-fields.ts'
import { answerProperties, exampleOf } from './wire.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const Webhook = define('Webhook', Type.Object(answerProperties(webhookFields)))
export const ShownWebhook = define(
  'ShownWebhook',
  Type.Object({
    ...answerProperties(webhookFields),
    secret: Type.String({ description: 'The signing secret. Only this response contains it.' }),
  }),
)

export const WebhookTest = define(
  'WebhookTest',
  Type.Object({
    ok: Type.Boolean(),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The HTTP status that the endpoint answered. Null without an answer.',
    }),
    latency_ms: Type.Number({ minimum: 0 }),
    error: Type.Optional(Type.String({ description: 'Why the test failed.' })),
  }),
)

export const Delivery = define('Delivery', Type.Object(answerProperties(deliveryFields)))
export const SentDelivery = define(
  'SentDelivery',
  Type.Object({
    ...answerProperties(deliveryFields),
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description: 'What each attempt sends: `type`, `timestamp` and `data`. Null if what the event is about is no longer stored.',
    }),
  }),
)

export const Replayed = define('Replayed', Type.Object({ deliveries: Count }))

export const webhookSchemas = [Webhook, ShownWebhook, WebhookTest, Delivery, SentDelivery, Replayed]

export const webhookExamples = {
  Webhook: exampleOf(webhookFields),
  ShownWebhook: { ...exampleOf(webhookFields), secret: 'whsec_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ=' },
  WebhookTest: { ok: true, status: 204, latency_ms: 38.2 },
  Delivery: exampleOf(deliveryFields),
  SentDelivery: {
    ...exampleOf(deliveryFields),
    body: {
      type: 'turn.completed',
      timestamp: '2026-11-21T14:11:58.332Z',
      data: { request_id: '0198c0de-7a3b-7c4d-8e5f-60718293a4b5', status: 'completed' },
    },
  },
  Replayed: { deliveries: 43 },
}
