/** /providers, on the wire. A provider's key comes in here and goes out nowhere. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Admin } from '../admin/admin.ts'
import { IdParams, PageQuery, readPage, wellFormed, writePage, writeTime } from './admin-fields.ts'

type Provider = Awaited<ReturnType<Admin['findProvider']>>
type ProviderTest = Awaited<ReturnType<Admin['testProvider']>>

// A slug: it stands before the first slash of a model.
const Slug = Type.String({ maxLength: 64, pattern: '^[a-z0-9][a-z0-9-]*$' })
const BaseUrl = wellFormed({ minLength: 1, maxLength: 2000 })
// Visible ASCII: it becomes a part of a header. A gateway's signed token may be long.
const ApiKey = Type.String({ minLength: 1, maxLength: 4096, pattern: '^[\\x21-\\x7e]+$' })
const ModelId = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f\\p{Cs}]+$' })

const NewProvider = Type.Object(
  {
    name: Slug,
    kind: Type.Enum(['openai', 'openai-compatible']),
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

export const providerRoutes: FastifyPluginAsyncTypebox<{ admin: Admin }> = async (app, { admin }) => {
  app.post('/providers', { schema: { body: NewProvider } }, async (request, reply) => {
    const { name, kind, base_url: baseUrl, api_key: apiKey } = request.body
    return reply.code(201).send(writeProvider(await admin.createProvider({ name, kind, baseUrl, apiKey })))
  })

  app.get('/providers', { schema: { querystring: PageQuery } }, async (request) =>
    writePage(await admin.listProviders(readPage(request.query)), writeProvider),
  )

  app.get('/providers/:id', { schema: { params: IdParams } }, async (request) => writeProvider(await admin.findProvider(request.params.id)))

  app.patch('/providers/:id', { schema: { params: IdParams, body: ProviderChange } }, async (request) => {
    const { name, base_url: baseUrl, api_key: apiKey } = request.body
    return writeProvider(await admin.changeProvider(request.params.id, { name, baseUrl, apiKey }))
  })

  app.delete('/providers/:id', { schema: { params: IdParams } }, async (request, reply) => {
    await admin.deleteProvider(request.params.id)
    return reply.code(204).send()
  })

  app.post('/providers/:id/test', { schema: { params: IdParams, body: TestWish } }, async (request) =>
    writeTest(await admin.testProvider(request.params.id, request.body?.model)),
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
