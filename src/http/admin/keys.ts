/** The admin routes for the API keys of an agent. Only the response that creates or rotates a key contains the complete key. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { Key as KeyAnswer, ShownKey, about, answers, gone, made, pageOf } from './answers.ts'
import { apiKeyFields } from '../../resources/api-key.ts'
import { AgentParams, KeyParams, PageQuery, readPage, writePage } from './fields.ts'
import { changeProperties, newExample, newProperties, readChange, readNew, writerOf } from './wire.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type ApiKeyShown = Awaited<ReturnType<AdminCalls['createApiKey']>>

const closed = { additionalProperties: false } as const

const NewKey = Type.Object(newProperties(apiKeyFields), { ...closed, examples: [newExample(apiKeyFields)] })
const KeyChange = Type.Object(changeProperties(apiKeyFields), {
  ...closed,
  examples: [{ name: 'Web shop, read-only', permission: 'read-only' }],
})
// 30 days are enough for a caller with slow releases to switch to the new secret.
const maxGraceSeconds = 30 * 24 * 60 * 60
/** The body is optional. Without `grace_seconds` the old secret stops working immediately. */
const Rotation = Type.Union(
  [Type.Object({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: maxGraceSeconds })) }, closed), Type.Null()],
  { examples: [{ grace_seconds: 3600 }] },
)

export const keyRoutes: TypedRoutes = async (app) => {
  app.post(
    '/agents/:id/keys',
    {
      schema: {
        ...about(
          'Keys',
          'createKey',
          'Create an API key',
          'Only this response contains the complete key. Default `rate_limit`: 120 requests in 60 seconds.',
        ),
        params: AgentParams,
        body: NewKey,
        response: made(ShownKey, 'not_found'),
      },
    },
    async (request, reply) => {
      const given = { ...readNew(apiKeyFields, request.body), agentId: request.params.id }
      return reply.code(201).send(writeShown(await request.admin.createApiKey(given)))
    },
  )

  app.get(
    '/agents/:id/keys',
    {
      schema: {
        ...about('Keys', 'listKeys', 'List the API keys of an agent, newest first', 'Includes revoked keys. Secrets are not returned.'),
        params: AgentParams,
        querystring: PageQuery,
        response: answers(pageOf(KeyAnswer), 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listApiKeys(request.params.id, readPage(request.query)), writeKey),
  )

  app.patch(
    '/keys/:id',
    {
      schema: {
        ...about('Keys', 'changeKey', 'Update an API key', 'Omitted fields are unchanged. Returns 409 `conflict` for a revoked key.'),
        params: KeyParams,
        body: KeyChange,
        response: answers(KeyAnswer, 'not_found', 'conflict'),
      },
    },
    async (request) => writeKey(await request.admin.changeApiKey(request.params.id, readChange(apiKeyFields, request.body))),
  )

  app.delete(
    '/keys/:id',
    {
      schema: {
        ...about(
          'Keys',
          'revokeKey',
          'Revoke an API key',
          'Permanent. Takes effect on every process within a second. The conversations of the key are kept.',
        ),
        params: KeyParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.revokeApiKey(request.params.id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/keys/:id/rotate',
    {
      schema: {
        ...about(
          'Keys',
          'rotateKey',
          'Rotate the secret of an API key',
          'The key keeps its ID, its public part and its conversations. The old secret stops working immediately, or after `grace_seconds`. With `grace_seconds`, secrets of earlier rotations work until their own grace periods end. Without it, all old secrets end. A key has at most 5 valid secrets.',
        ),
        params: KeyParams,
        body: Rotation,
        response: answers(ShownKey, 'not_found', 'conflict'),
      },
    },
    async (request) => writeShown(await request.admin.rotateApiKey(request.params.id, request.body?.grace_seconds ?? 0)),
  )
}

const writeKey = writerOf(apiKeyFields)
const writeShown = ({ text, ...key }: ApiKeyShown): Static<typeof ShownKey.ref> => ({ api_key: text, ...writeKey(key) })
