/** The admin routes for model providers. A provider's API key is accepted here and never returned. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { providerKinds } from '../../provider-kinds.ts'
import { Provider as ProviderAnswer, ProviderTest as TestAnswer, about, answers, gone, made, pageOf } from './answers.ts'
import { ProviderModels as ModelsAnswer } from './console-answers.ts'
import { ProviderParams, PageQuery, readPage, wellFormed, writePage, writePrice, writeTime } from './fields.ts'
import { inWords } from '../edge/invalid-input.ts'
import { refuseWithout } from './permissions.ts'
import { Type } from '../edge/schema.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'

type Provider = Awaited<ReturnType<AdminCalls['findProvider']>>
type ProviderTest = Awaited<ReturnType<AdminCalls['testProvider']>>
type ProviderModels = Awaited<ReturnType<AdminCalls['listProviderModels']>>

// The part of a model name before the first slash.
const Slug = Type.String({
  maxLength: 64,
  pattern: inWords('^[a-z0-9][a-z0-9-]*$', 'made up of lowercase letters, digits and hyphens, such as openai'),
})
const BaseUrl = wellFormed({ minLength: 1, maxLength: 2000 })
// Visible ASCII, because it is sent in a header. Signed tokens of gateways can be long.
const ApiKey = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: inWords('^[\\x21-\\x7e]+$', 'made up of visible ASCII characters, without spaces and line breaks'),
})
const ModelId = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: inWords('^[^\\u0000-\\u001f\\p{Cs}]+$', 'the ID of a model, without control characters'),
})

const closed = { additionalProperties: false } as const

const NewProvider = Type.Object(
  {
    name: Slug,
    kind: Type.Enum([...providerKinds]),
    base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])),
    api_key: ApiKey,
  },
  { ...closed, examples: [{ name: 'openai', kind: 'openai', api_key: 'the-provider-api-key' }] },
)
const ProviderChange = Type.Object(
  { name: Type.Optional(Slug), base_url: Type.Optional(Type.Union([BaseUrl, Type.Null()])), api_key: Type.Optional(ApiKey) },
  { ...closed, examples: [{ api_key: 'a-new-provider-api-key' }] },
)
/** The body is optional. */
const TestWish = Type.Union([Type.Object({ model: Type.Optional(ModelId) }, closed), Type.Null()], {
  examples: [{ model: 'gpt-5.4-mini' }],
})

export const providerRoutes: TypedRoutes = async (app) => {
  app.post(
    '/providers',
    {
      schema: {
        ...about(
          'Providers',
          'createProvider',
          'Create a provider',
          '`name` is the part of a model before the first slash. `base_url` is required only for `openai-compatible`. The key is stored encrypted and never returned.',
        ),
        body: NewProvider,
        response: made(ProviderAnswer, 'conflict'),
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
        ...about('Providers', 'listProviders', 'List providers, newest first', 'API keys are not returned.'),
        querystring: PageQuery,
        response: answers(pageOf(ProviderAnswer)),
      },
    },
    async (request) => writePage(await request.admin.listProviders(readPage(request.query)), writeProvider),
  )

  app.get(
    '/providers/:id',
    {
      schema: {
        ...about('Providers', 'findProvider', 'Get a provider', 'The API key is stored encrypted and never returned.'),
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
          'Update a provider',
          'Omitted fields are unchanged. `api_key` is required if `base_url` points to another server (scheme, host or port), because the stored key is not sent there. Returns 409 `conflict` when renaming a provider that an agent uses, for its model or for its embedding model.',
        ),
        params: ProviderParams,
        body: ProviderChange,
        response: answers(ProviderAnswer, 'not_found', 'conflict'),
      },
    },
    async (request) => {
      const { name, base_url: baseUrl, api_key: apiKey } = request.body
      if (baseUrl !== undefined || apiKey !== undefined) refuseWithout(request.principal, 'provider_keys')
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
          'Delete a provider',
          'Returns 409 `conflict` while an agent uses a model or an embedding model of this provider.',
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
}

export const providerTestRoutes: TypedRoutes = async (app) => {
  app.post(
    '/providers/:id/test',
    {
      schema: {
        ...about(
          'Providers',
          'testProvider',
          'Test a provider',
          'Makes one small, real model call. If the call fails, the response is still a 200, with `ok: false` and the error message of the provider.',
        ),
        params: ProviderParams,
        body: TestWish,
        response: answers(TestAnswer, 'not_found'),
      },
    },
    async (request) => writeTest(await request.admin.testProvider(request.params.id, request.body?.model)),
  )

  app.get(
    '/providers/:id/models',
    {
      schema: {
        ...about(
          'Providers',
          'listProviderModels',
          'List the models of a provider',
          'Requests the list from the provider: the first 1,000 models in its order, each with its price from the built-in price list. If the request fails or takes longer than 10 seconds, the response is still a 200, with `ok: false` and the error message of the provider.',
        ),
        params: ProviderParams,
        response: answers(ModelsAnswer, 'not_found'),
      },
    },
    async (request) => writeModels(await request.admin.listProviderModels(request.params.id)),
  )
}

const writeProvider = ({ id, name, kind, baseUrl, createdAt, updatedAt }: Provider): Static<typeof ProviderAnswer.ref> => ({
  id,
  name,
  kind,
  base_url: baseUrl,
  created_at: writeTime(createdAt),
  updated_at: writeTime(updatedAt),
})

const writeTest = (test: ProviderTest): Static<typeof TestAnswer.ref> => ({
  ok: test.ok,
  ...(test.modelId === undefined ? {} : { model: test.modelId }),
  latency_ms: test.latencyMs,
  ...(test.ok ? {} : { error: test.error }),
})

const writeModels = (listed: ProviderModels): Static<typeof ModelsAnswer.ref> => ({
  ok: listed.ok,
  data: listed.ok
    ? listed.models.map(({ id, price, contextTokens }) => ({ id, price: price && writePrice(price), context_tokens: contextTokens }))
    : [],
  ...(listed.ok ? {} : { error: listed.error }),
})
