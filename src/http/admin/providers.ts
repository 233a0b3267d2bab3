/** /providers, on the wire. A provider's key comes in here and goes out nowhere. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { Provider as ProviderAnswer, ProviderTest as TestAnswer, about, answers, gone, made, pageOf } from './answers.ts'
import { ProviderParams, PageQuery, readPage, wellFormed, writePage, writeTime } from './fields.ts'
import { Type } from '../edge/schema.ts'

type Provider = Awaited<ReturnType<AdminCalls['findProvider']>>
type ProviderTest = Awaited<ReturnType<AdminCalls['testProvider']>>

// A slug: it stands before the first slash of a model.
const Slug = Type.String({ maxLength: 64, pattern: '^[a-z0-9][a-z0-9-]*$' })
const BaseUrl = wellFormed({ minLength: 1, maxLength: 2000 })
// Visible ASCII: it becomes a part of a header. A gateway's signed token may be long.
const ApiKey = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[\\x21-\\x7e]+$' })
const ModelId = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\p{Cs}]+$' })

const closed = { additionalProperties: false } as const

const NewProvider = Type.Object(
  {
    name: Slug,
    kind: Type.Enum(['openai', 'anthropic', 'google', 'openai-compatible']),
    base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])),
    api_key: ApiKey,
  },
  { ...closed, examples: [{ name: 'openai', kind: 'openai', api_key: 'the-key-of-the-provider' }] },
)
const ProviderChange = Type.Object(
  { name: Type.Optional(Slug), base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])), api_key: Type.Optional(ApiKey) },
  { ...closed, examples: [{ api_key: 'a-newer-key-of-the-provider' }] },
)
/** May be left out. */
const TestWish = Type.Union([Type.Object({ model: Type.Optional(ModelId) }, closed), Type.Null()], {
  examples: [{ model: 'gpt-5.4-mini' }],
})

export const providerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/providers',
    {
      schema: {
        ...about(
          'Providers',
          'createProvider',
          'Add a provider of models',
          '`name` stands before the first slash of a model. `base_url` is needed for `openai-compatible` alone. The key is stored sealed and is in no answer.',
        ),
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
        ...about('Providers', 'listProviders', 'List providers, newest first', 'Without their keys.'),
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
        ...about('Providers', 'findProvider', 'Read a provider, without its key', 'Its key is stored sealed and is in no answer.'),
        params: ProviderParams,
        response: answers(ProviderAnswer, 'not_found'),
      },
    },
    async (request) => writeProvider(await request.admin.findProvider(request.params.id)),
  )

  app.patch(
    '/providers/:id',
    {
      schema: {
        ...about(
          'Providers',
          'changeProvider',
          'Change a provider',
          'Absent fields stay as they are. A provider that an agent names keeps its name: 409 `conflict`.',
        ),
        params: ProviderParams,
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
        ...about(
          'Providers',
          'deleteProvider',
          'Remove a provider that no agent uses',
          'While an agent names it in its model: 409 `conflict`.',
        ),
        params: ProviderParams,
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
        ...about(
          'Providers',
          'testProvider',
          'Make one tiny call',
          'The call is real. What fails is a 200 with `ok: false` and the words of the provider.',
        ),
        params: ProviderParams,
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
