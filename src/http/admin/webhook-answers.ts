/** The responses of the admin API about webhooks and their deliveries. */
import { eventTypes } from '../../event-types.ts'
import { Count, Time, TimeOrNull, idOf, orNull } from './answer-fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

const webhookFields = {
  id: idOf('whk'),
  url: Type.String(),
  events: Type.Array(Type.String(), { description: 'Types of events, or `["*"]` for all.' }),
  owner_id: Type.Union([idOf('own'), Type.Null()], { description: 'Only events of this owner. Null: of all.' }),
  agent_id: Type.Union([idOf('agt'), Type.Null()], { description: 'Only events of this agent. Null: of all.' }),
  description: orNull(Type.String()),
  include_messages: Type.Boolean({ description: 'Whether the bodies contain messages and comments of end users.' }),
  enabled: Type.Boolean({
    description: 'If false, no events are recorded for the webhook, and its pending deliveries wait until it is enabled.',
  }),
  disabled_reason: Type.Union([Type.String(), Type.Null()], {
    description:
      'Why the service disabled the webhook: its endpoint answered 410. The delivery that got this answer has failed, and the other pending ones wait until the webhook is enabled. Null if it is enabled, or if you disabled it.',
  }),
  previous_secret_expires_at: Type.Union([Time, Type.Null()], {
    description:
      'Until then, deliveries are also signed with the previous secret. After several rotations: the end of the last of the old secrets.',
  }),
  created_at: Time,
  updated_at: Time,
}
export const Webhook = define('Webhook', Type.Object(webhookFields))
export const ShownWebhook = define(
  'ShownWebhook',
  Type.Object({ ...webhookFields, secret: Type.String({ description: 'The signing secret. Only this response contains it.' }) }),
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

const deliveryFields = {
  id: Type.String({ description: 'The ID of the event, which is the `webhook-id` of every attempt.' }),
  type: Type.Enum([...eventTypes]),
  status: Type.Enum(['pending', 'delivered', 'failed'], {
    description: '`failed`: after the last attempt. It can be retried for 30 days.',
  }),
  attempts: Count,
  next_attempt_at: Type.Union([Time, Type.Null()], {
    description: 'When a pending delivery is sent next. While its webhook is disabled, it waits. Null if it has ended.',
  }),
  last_status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The HTTP status of the last attempt, also of a redirect. Null without a response.',
  }),
  last_error: Type.Union([Type.String(), Type.Null()], { description: 'Why the last attempt failed.' }),
  created_at: Time,
  ended_at: TimeOrNull,
}
export const Delivery = define('Delivery', Type.Object(deliveryFields))
export const SentDelivery = define(
  'SentDelivery',
  Type.Object({
    ...deliveryFields,
    body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
      description: 'What each attempt sends: `type`, `timestamp` and `data`. Null if what the event is about is no longer stored.',
    }),
  }),
)

export const Replayed = define('Replayed', Type.Object({ deliveries: Count }))

export const webhookSchemas = [Webhook, ShownWebhook, WebhookTest, Delivery, SentDelivery, Replayed]

const webhook = {
  id: 'whk_01jd3v9qk8x2m5n7p4r6t8w0yh',
  url: 'https://shop.example/turnkeep',
  events: ['turn.completed', 'turn.failed'],
  owner_id: null,
  agent_id: null,
  description: 'Order system',
  include_messages: false,
  enabled: true,
  disabled_reason: null,
  previous_secret_expires_at: null,
  created_at: '2026-11-21T09:00:00.000Z',
  updated_at: '2026-11-21T09:00:00.000Z',
}

const delivery = {
  id: 'evt_0198c0de-7a3b-7c4d-8e5f-60718293a4b5_turn_completed',
  type: 'turn.completed',
  status: 'pending',
  attempts: 1,
  next_attempt_at: '2026-11-21T14:12:03.400Z',
  last_status: 503,
  last_error: 'the endpoint answered 503',
  created_at: '2026-11-21T14:11:58.332Z',
  ended_at: null,
}

export const webhookExamples = {
  Webhook: webhook,
  ShownWebhook: { ...webhook, secret: 'whsec_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ=' },
  WebhookTest: { ok: true, status: 204, latency_ms: 38.2 },
  Delivery: delivery,
  SentDelivery: {
    ...delivery,
    body: {
      type: 'turn.completed',
      timestamp: '2026-11-21T14:11:58.332Z',
      data: { request_id: '0198c0de-7a3b-7c4d-8e5f-60718293a4b5', status: 'completed' },
    },
  },
  Replayed: { deliveries: 43 },
}
