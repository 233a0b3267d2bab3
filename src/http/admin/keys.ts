/** The admin routes for the API keys of an agent. Only the response that creates or rotates a key contains the complete key. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { Key as KeyAnswer, ShownKey, about, answers, gone, made, pageOf } from './answers.ts'
import { AgentParams, ExternalUserId, KeyParams, Name, PageQuery, readPage, writePage, writeTime, writeTimeOrNull } from './fields.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type ApiKey = Awaited<ReturnType<AdminCalls['changeApiKey']>>
type ApiKeyChange = Parameters<AdminCalls['changeApiKey']>[1]
type ApiKeyShown = Awaited<ReturnType<AdminCalls['createApiKey']>>

const closed = { additionalProperties: false } as const

const Permission = Type.Enum(['full', 'read-only'])
// A window longer than a day no longer detects abuse, and more than a million requests in one is no longer a useful limit.
const RateLimit = Type.Object(
  { limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }), window_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }) },
  closed,
)
const adapterSettings = {
  default_external_user_id: Type.Optional(
    Type.Union([ExternalUserId, Type.Null()], {
      description: 'The end user of requests that name none, for the OpenAI endpoints and MCP. Null: such requests are refused.',
    }),
  ),
  mcp: Type.Optional(Type.Boolean({ description: 'Whether the key may call the agent as an MCP server. Default: true.' })),
}
const NewKey = Type.Object(
  { name: Type.Optional(Name), permission: Permission, rate_limit: Type.Optional(RateLimit), ...adapterSettings },
  { ...closed, examples: [{ name: 'Web shop', permission: 'full', rate_limit: { limit: 120, window_seconds: 60 } }] },
)
const KeyChange = Type.Object(
  {
    name: Type.Optional(Type.Union([Name, Type.Null()])),
    permission: Type.Optional(Permission),
    rate_limit: Type.Optional(RateLimit),
    ...adapterSettings,
  },
  { ...closed, examples: [{ name: 'Web shop, read-only', permission: 'read-only' }] },
)
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
      const { name, permission, rate_limit: rate } = request.body
      const rateLimit = rate && { limit: rate.limit, windowSeconds: rate.window_seconds }
      const given = { agentId: request.params.id, name, permission, rateLimit, ...readAdapted(request.body) }
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
    async (request) => {
      const { name, permission, rate_limit: rate } = request.body
      return writeKey(
        await request.admin.changeApiKey(request.params.id, {
          ...(name === undefined ? {} : { name }),
          ...(permission === undefined ? {} : { permission }),
          ...(rate === undefined ? {} : { rateLimit: rate.limit, rateWindowSeconds: rate.window_seconds }),
          ...readAdapted(request.body),
        }),
      )
    },
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

function readAdapted({
  default_external_user_id: user,
  mcp,
}: Static<typeof KeyChange>): Pick<ApiKeyChange, 'defaultExternalUserId' | 'mcp'> {
  return { ...(user === undefined ? {} : { defaultExternalUserId: user }), ...(mcp === undefined ? {} : { mcp }) }
}

const writeShown = ({ text, ...key }: ApiKeyShown): Static<typeof ShownKey.ref> => ({ api_key: text, ...writeKey(key) })

const writeKey = (key: ApiKey): Static<typeof KeyAnswer.ref> => ({
  id: key.id,
  key_id: key.keyId,
  agent_id: key.agentId,
  name: key.name,
  permission: key.permission,
  rate_limit: { limit: key.rateLimit, window_seconds: key.rateWindowSeconds },
  default_external_user_id: key.defaultExternalUserId,
  mcp: key.mcp,
  created_at: writeTime(key.createdAt),
  last_used_at: writeTimeOrNull(key.lastUsedAt),
  revoked_at: writeTimeOrNull(key.revokedAt),
})
