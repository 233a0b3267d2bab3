/** The admin routes for webhooks. Only the response that creates a webhook contains its secret. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { ApiError } from '../../errors.ts'
import { eventTypes } from '../../event-types.ts'
import { about, answers, gone, made, pageOf } from './answers.ts'
import { PageQuery, WebhookParams, idGiven, readPage, wellFormed, writePage, writeTime, writeTimeOrNull } from './fields.ts'
import { ShownWebhook, Webhook as WebhookAnswer } from './webhook-answers.ts'
import { refuseWithout } from './permissions.ts'
import { Type } from '../edge/schema.ts'

type Webhook = Awaited<ReturnType<AdminCalls['findWebhook']>>

const closed = { additionalProperties: false } as const

const Url = wellFormed({ minLength: 1, maxLength: 2000 })
const Events = Type.Array(Type.Enum(['*', ...eventTypes]), { minItems: 1, maxItems: eventTypes.length })
const Description = wellFormed({ maxLength: 1000 })
const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) => Type.Union([schema, Type.Null()])
const optional = {
  owner_id: Type.Optional(orNull(idGiven('own', 'Only events of this owner.'))),
  agent_id: Type.Optional(orNull(idGiven('agt', 'Only events of this agent. With `owner_id`, it must be an agent of that owner.'))),
  description: Type.Optional(orNull(Description)),
  include_messages: Type.Optional(Type.Boolean({ description: 'Include messages and comments of end users. Default: false.' })),
}
const NewWebhook = Type.Object(
  { url: Url, events: Events, ...optional },
  {
    ...closed,
    examples: [{ url: 'https://shop.example/turnkeep', events: ['turn.completed', 'turn.failed'], description: 'Order system' }],
  },
)
const WebhookChange = Type.Object(
  { url: Type.Optional(Url), events: Type.Optional(Events), ...optional, enabled: Type.Optional(Type.Boolean()) },
  { ...closed, examples: [{ events: ['*'] }] },
)
export const webhookRoutes: FastifyPluginAsyncTypebox = async (app) => {
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
      const { url, events, owner_id, agent_id, description, include_messages } = request.body
      if (include_messages) refuseWithout(request.principal, 'conversations')
      const { secret, ...webhook } = await request.admin.createWebhook({
        url,
        events: checkEvents(events),
        ownerId: owner_id ?? null,
        agentId: agent_id ?? null,
        description: description ?? null,
        includeMessages: include_messages ?? false,
      })
      return reply.code(201).send({ ...writeWebhook(webhook), secret })
    },
  )

  app.get(
    '/webhooks',
    {
      schema: {
        ...about('Webhooks', 'listWebhooks', 'List webhooks, newest first', 'Secrets are not returned.'),
        querystring: PageQuery,
        response: answers(pageOf(WebhookAnswer)),
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
        response: answers(WebhookAnswer, 'not_found'),
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
        body: WebhookChange,
        response: answers(WebhookAnswer, 'not_found'),
      },
    },
    async (request) => {
      const { url, events, owner_id, agent_id, description, include_messages, enabled } = request.body
      if (include_messages) refuseWithout(request.principal, 'conversations')
      const given = {
        url,
        events: events && checkEvents(events),
        ownerId: owner_id,
        agentId: agent_id,
        description,
        includeMessages: include_messages,
        enabled,
      }
      const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
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

/** Throws ApiError `validation_error` for `*` beside other events. */
function checkEvents(events: string[]): string[] {
  if (events.includes('*') && events.length > 1)
    throw new ApiError('validation_error', 'events must be ["*"] or a list of event types without "*".')
  return [...new Set(events)]
}

export const writeWebhook = (webhook: Webhook): object => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  owner_id: webhook.ownerId,
  agent_id: webhook.agentId,
  description: webhook.description,
  include_messages: webhook.includeMessages,
  enabled: webhook.enabled,
  disabled_reason: webhook.disabledReason,
  previous_secret_expires_at: writeTimeOrNull(webhook.oldSecretsUntil),
  created_at: writeTime(webhook.createdAt),
  updated_at: writeTime(webhook.updatedAt),
})
