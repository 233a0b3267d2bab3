/** The admin routes for webhooks. Only the response that creates a webhook contains its secret. */
import type { FastifyRequest } from 'fastify'
import { invalid } from '../../errors.ts'
import { webhookFields } from '../../resources/webhook.ts'
import type { WebhookChange } from '../../resources/webhook.ts'
import { about, answers, gone, made, pageOf } from './answers.ts'
import { PageQuery, WebhookParams, readPage, writePage } from './fields.ts'
import { ShownWebhook, Webhook } from './webhook-answers.ts'
import { refuseWithout } from './permissions.ts'
import { changeProperties, newExample, newProperties, readChange, readNew, writerOf } from './wire.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

const closed = { additionalProperties: false } as const

const NewWebhook = Type.Object(newProperties(webhookFields), { ...closed, examples: [newExample(webhookFields)] })
const ChangedWebhook = Type.Object(changeProperties(webhookFields), { ...closed, examples: [{ events: ['*'] }] })
export const writeWebhook = writerOf(webhookFields)

export const webhookRoutes: TypedRoutes = async (app) => {
  app.post(
    '/webhooks',
    {
      schema: {
        ...about(
          'Webhooks',
          'createWebhook',
          'Create a webhook',
          'Events that occur from now on are sent to `url` with the headers of Standard Webhooks. Only this response contains the signing secret. `url` must be a public https address, unless `TURNKEEP_ALLOW_PRIVATE_HOSTS` allows it.',
        ),
        body: NewWebhook,
        response: made(ShownWebhook, 'conflict'),
      },
    },
    async (request, reply) => {
      const { secret, ...webhook } = await request.admin.createWebhook(checked(request, readNew(webhookFields, request.body)))
      return reply.code(201).send({ ...writeWebhook(webhook), secret })
    },
  )

  app.get(
    '/webhooks',
    {
      schema: {
        ...about('Webhooks', 'listWebhooks', 'List webhooks, newest first', 'Secrets are not returned.'),
        querystring: PageQuery,
        response: answers(pageOf(Webhook)),
      },
    },
    async (request) => writePage(await request.admin.listWebhooks(readPage(request.query)), writeWebhook),
  )

  app.get(
    '/webhooks/:id',
    {
      schema: {
        ...about('Webhooks', 'findWebhook', 'Get a webhook', 'The secret is stored encrypted and never returned.'),
        params: WebhookParams,
        response: answers(Webhook, 'not_found'),
      },
    },
    async (request) => writeWebhook(await request.admin.findWebhook(request.params.id)),
  )

  app.patch(
    '/webhooks/:id',
    {
      schema: {
        ...about(
          'Webhooks',
          'changeWebhook',
          'Update a webhook',
          'Omitted fields are unchanged. While a webhook is disabled, no events are recorded for it, and what is pending waits. Replay what it missed.',
        ),
        params: WebhookParams,
        body: ChangedWebhook,
        response: answers(Webhook, 'not_found'),
      },
    },
    async (request) => {
      const change = checked(request, readChange(webhookFields, request.body))
      return writeWebhook(await request.admin.changeWebhook(request.params.id, change))
    },
  )

  app.delete(
    '/webhooks/:id',
    {
      schema: {
        ...about('Webhooks', 'deleteWebhook', 'Delete a webhook', 'Nothing more is sent to it, not even what is pending.'),
        params: WebhookParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.deleteWebhook(request.params.id)
      return reply.code(204).send()
    },
  )
}

/** Throws ApiError `forbidden` for messages without the permission, and `validation_error` for `*` beside other events. */
function checked<Given extends WebhookChange>({ principal }: Pick<FastifyRequest, 'principal'>, given: Given): Given {
  const { includeMessages, events } = given
  if (includeMessages) refuseWithout(principal, 'conversations')
  if (events && events.includes('*') && events.length > 1)
    throw invalid('events', 'events must be ["*"] or a list of event types without "*".')
  return events ? { ...given, events: [...new Set(events)] } : given
}
