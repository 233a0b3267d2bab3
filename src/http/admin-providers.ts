/** /providers, on the wire. A provider's key comes in here and goes out nowhere. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../admin/admin.ts'
import { Provider as ProviderAnswer, ProviderTest as TestAnswer, about, answers, gone, made, pageOf } from './admin-answers.ts'
import { IdParams, PageQuery, readPage, wellFormed, writePage, writeTime } from './admin-fields.ts'
import { Type } from './schema.ts'

type Provider = Awaited<ReturnType<AdminCalls['findProvider']>>
type ProviderTest = Awaited<ReturnType<AdminCalls['testProvider']>>

// A slug: it stands before the first slash of a model.
const Slug = Type.String({ maxLength: 64, pattern: '^[a-z0-9][a-z0-9-]*$' })
const BaseUrl = wellFormed({ minLength: 1, maxLength: 2000 })
// Visible ASCII: it becomes a part of a header. A gateway's signed token may be long.
const ApiKey = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[\\x21-\\x7e]+$' })
const ModelId = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\p{Cs}]+$' })

const NewProvider = Type.Object(
  {
    name: Slug,
    kind: Type.Enum(['openai', 'anthropic', 'google', 'openai-compatible']),
    base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])),
    api_key: ApiKey,
  },
  { additionalProperties: false },
)
const ProviderChange = Type.Object(
  { name: Type.Optional(Slug), base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])), api_key: Type.Optional(ApiKey) },
  { additionalProperties: false },
)
/** May be left out. */
const TestWish = Type.Union([Type.Object({ model: Type.Optional(ModelId) }, { additionalProperties: false }), Type.Null()])

export const providerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/providers',
    {
      schema: {
        ...about('Providers', 'createProvider', 'Add a provider of models'),
        body: NewProvider,
        response: made(ProviderAnswer, 'validation_error', 'conflict'),
      },
    },
    async (request, reply) => {
      const { name, kind, base_url: baseUrl, api_key: apiKey } = request.body
      return reply.code(201).send(writeProvider(await request.admin.createProvider({ name, kind, baseUrl, apiKey })))
    },
  )

  app.get(
    '/providers',
    {
      schema: {
        ...about('Providers', 'listProviders', 'List providers, newest first'),
        querystring: PageQuery,
        response: answers(pageOf(ProviderAnswer), 'validation_error'),
      },
    },
    async (request) => writePage(await request.admin.listProviders(readPage(request.query)), writeProvider),
  )

  app.get(
    '/providers/:id',
    {
      schema: {
        ...about('Providers', 'findProvider', 'Read a provider, without its key'),
        params: IdParams,
        response: answers(ProviderAnswer, 'not_found'),
      },
    },
    async (request) => writeProvider(await request.admin.findProvider(request.params.id)),
  )

  app.patch(
    '/providers/:id',
    {
      schema: {
        ...about('Providers', 'changeProvider', 'Change a provider'),
        params: IdParams,
        body: ProviderChange,
        response: answers(ProviderAnswer, 'validation_error', 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const { name, base_url: baseUrl, api_key: apiKey } = request.body
      return writeProvider(await request.admin.changeProvider(request.params.id, { name, baseUrl, apiKey }))
    },
  )

  app.delete(
    '/providers/:id',
    {
      schema: {
        ...about('Providers', 'deleteProvider', 'Remove a provider that no agent uses'),
        params: IdParams,
        response: gone('not_found', 'conflict'),
      },
    },
    async (request, reply) => {
      await request.admin.deleteProvider(request.params.id)
      return reply.code(204).send()
    },
  )

  app.post(
    '/providers/:id/test',
    {
      schema: {
        ...about('Providers', 'testProvider', 'Make one tiny call'),
        params: IdParams,
        body: TestWish,
        response: answers(TestAnswer, 'validation_error', 'not_found'),
      },
    },
    async (request) => writeTest(await request.admin.testProvider(request.params.id, request.body?.model)),
  )
}

const writeProvider = ({ id, name, kind, baseUrl, createdAt, updatedAt }: Provider): object => ({
  id,
  name,
  kind,
  base_url: baseUrl,
  created_at: writeTime(createdAt),
  updated_at: writeTime(updatedAt),
})

const writeTest = (test: ProviderTest): object => ({
  ok: test.ok,
  ...(test.modelId === undefined ? {} : { model: test.modelId }),
  latency_ms: test.latencyMs,
  ...(test.ok ? {} : { error: test.error }),
})
