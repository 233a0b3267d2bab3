/** The admin routes for what is done with a webhook: its secret, a test, and its deliveries. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { deliveryFields, deliveryStates } from '../../resources/delivery.ts'
import { about, answers, pageOf } from './answers.ts'
import { EmptyBody, Moment, WebhookParams, pageQuery, readMoment, readPage, wellFormed, writePage } from './fields.ts'
import { Delivery as DeliveryAnswer, Replayed, SentDelivery, ShownWebhook, WebhookTest as TestAnswer } from './webhook-answers.ts'
import { writerOf } from './wire.ts'
import { writeWebhook } from './webhooks.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type WebhookTest = Awaited<ReturnType<AdminCalls['testWebhook']>>

const writeDelivery = writerOf(deliveryFields)

const closed = { additionalProperties: false } as const

// 30 days are enough for a receiver with slow releases to switch to the new secret.
const maxGraceSeconds = 30 * 24 * 60 * 60
const defaultGraceSeconds = 24 * 60 * 60
/** The body is optional. */
const Rotation = Type.Union(
  [Type.Object({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: maxGraceSeconds })) }, closed), Type.Null()],
  { examples: [{ grace_seconds: 3600 }] },
)
const DeliveriesQuery = Type.Object(
  {
    ...pageQuery,
    status: Type.Optional(Type.Enum([...deliveryStates], { description: 'Only deliveries with this status.' })),
  },
  closed,
)
const DeliveryParams = Type.Object({
  ...WebhookParams.properties,
  delivery_id: Type.String({
    ...wellFormed({ minLength: 1, maxLength: 100 }),
    description: 'Id of the delivery.',
    examples: ['evt_0198c0de-7a3b-7c4d-8e5f-60718293a4b5_turn_completed'],
  }),
})
const Range = Type.Object({ from: Moment, to: Moment }, { ...closed, examples: [{ from: '2026-11-21', to: '2026-11-22' }] })

export const deliveryRoutes: TypedRoutes = async (app) => {
  app.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        ...about(
          'Webhooks',
          'rotateWebhookSecret',
          'Rotate the signing secret',
          'Only this response contains the new secret. For `grace_seconds` (default: a day), deliveries also have a signature of the previous secret. Secrets of earlier rotations sign until their own grace periods end. With `grace_seconds` 0, all old secrets end immediately. A webhook has at most 5 valid secrets.',
        ),
        params: WebhookParams,
        body: Rotation,
        response: answers(ShownWebhook, 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const graceSeconds = request.body?.grace_seconds ?? defaultGraceSeconds
      const { secret, ...webhook } = await request.admin.rotateWebhookSecret(request.params.id, graceSeconds)
      return { ...writeWebhook(webhook), secret }
    },
  )

  app.post(
    '/webhooks/:id/test',
    {
      schema: {
        ...about(
          'Webhooks',
          'testWebhook',
          'Send a test event',
          'Sends one event of the type `webhook.test`, also if the webhook is disabled. If that fails, the response is still a 200, with `ok: false` and the cause.',
        ),
        params: WebhookParams,
        body: EmptyBody,
        response: answers(TestAnswer, 'not_found'),
      },
    },
    async (request) => writeTest(await request.admin.testWebhook(request.params.id)),
  )

  app.get(
    '/webhooks/:id/deliveries',
    {
      schema: {
        ...about('Webhooks', 'listDeliveries', 'List deliveries, newest first', 'Deliveries are deleted after 30 days.'),
        params: WebhookParams,
        querystring: DeliveriesQuery,
        response: answers(pageOf(DeliveryAnswer), 'not_found'),
      },
    },
    async (request) => {
      const { status, ...page } = request.query
      return writePage(await request.admin.listDeliveries(request.params.id, status, readPage(page)), writeDelivery)
    },
  )

  app.get(
    '/webhooks/:id/deliveries/:delivery_id',
    {
      schema: {
        ...about(
          'Webhooks',
          'findDelivery',
          'Get a delivery with its body',
          'Messages are in `body` if the webhook includes them and you have the permission `conversations`.',
        ),
        params: DeliveryParams,
        response: answers(SentDelivery, 'not_found'),
      },
    },
    async (request) => {
      const withMessages = request.principal.permissions.has('conversations')
      const { body, ...delivery } = await request.admin.findDelivery(request.params.id, request.params.delivery_id, withMessages)
      return { ...writeDelivery(delivery), body: body === null ? null : (JSON.parse(body) as object) }
    },
  )

  app.post(
    '/webhooks/:id/deliveries/:delivery_id/retry',
    {
      schema: {
        ...about(
          'Webhooks',
          'retryDelivery',
          'Send a delivery again',
          'Sends it now, whatever its status, with the same `webhook-id` and the whole schedule of attempts.',
        ),
        params: DeliveryParams,
        body: EmptyBody,
        response: answers(DeliveryAnswer, 'not_found', 'conflict'),
      },
    },
    async (request) => writeDelivery(await request.admin.retryDelivery(request.params.id, request.params.delivery_id)),
  )

  app.post(
    '/webhooks/:id/replay',
    {
      schema: {
        ...about(
          'Webhooks',
          'replayDeliveries',
          'Send the events of a range again',
          'Sends every event that the webhook matches and that occurred from `from` until before `to`, with the same `webhook-id` as before. Includes turns that ended while the webhook was disabled or did not exist. The range may have 10,000 events, and may start 30 days ago.',
        ),
        params: WebhookParams,
        body: Range,
        response: answers(Replayed, 'not_found'),
      },
    },
    async (request) => {
      const [from, to] = [readMoment('from', request.body.from)!, readMoment('to', request.body.to)!]
      return { deliveries: await request.admin.replayDeliveries(request.params.id, { from, to }) }
    },
  )
}

const writeTest = (test: WebhookTest): Static<typeof TestAnswer.ref> => ({
  ok: test.ok,
  status: test.status,
  latency_ms: test.latencyMs,
  ...(test.ok ? {} : { error: test.error }),
})
