/** /agents and their versions, on the wire: fields, bounds and names. Defaults and prices are the admin room's. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { Admin } from '../admin/admin.ts'
import { ApiError } from '../errors.ts'
import { formatUsd, largestPricePerMillion } from '../ledger/ledger.ts'
import type { Amount, Price } from '../ledger/ledger.ts'
import { Id, IdParams, Name, PageQuery, Usd, readPage, readUsd, wellFormed, writePage, writeTime, writeUsd } from './admin-fields.ts'

type Agent = Awaited<ReturnType<Admin['findAgent']>>
type AgentVersion = Awaited<ReturnType<Admin['listAgentVersions']>>['data'][number]

const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const closed = { additionalProperties: false } as const

// The bounds keep the largest hold below two million tokens, which ledger.ts says still fits a column at the highest price: system prompt
// 200,000 (four bytes a code point) + history + knowledge + message 500,000 (the largest body) + output.
const fields = {
  name: Name,
  system_prompt: wellFormed({ maxLength: 100_000 }),
  model: Type.String({ minLength: 3, maxLength: 300, pattern: '^[^/\\s]+/[^\\u0000-\\u001f\\p{Cs}]+$' }),
}
const options = {
  price: Type.Optional(Type.Object({ prompt_usd_per_million: Usd, completion_usd_per_million: Usd }, closed)),
  max_output_tokens: Type.Optional(whole(1, 200_000)),
  temperature: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])),
  max_steps: Type.Optional(whole(1, 32)),
  max_message_length: Type.Optional(whole(1, 1_000_000)),
  history: Type.Optional(Type.Object({ max_tokens: Type.Optional(whole(0, 800_000)) }, closed)),
  knowledge: Type.Optional(Type.Object({ max_tokens: Type.Optional(whole(0, 100_000)), top_k: Type.Optional(whole(0, 50)) }, closed)),
  tools: Type.Optional(Type.Array(Type.Unknown())),
}
const NewAgent = Type.Object({ owner_id: Id, ...fields, ...options }, closed)
const AgentChange = Type.Object(
  { ...Type.Partial(Type.Object(fields)).properties, ...options, enabled: Type.Optional(Type.Boolean()) },
  closed,
)
const Rollback = Type.Object({ version: whole(1, 2 ** 31) }, closed)

export const agentRoutes: FastifyPluginAsyncTypebox<{ admin: Admin }> = async (app, { admin }) => {
  app.post('/agents', { schema: { body: NewAgent } }, async (request, reply) => {
    const { owner_id: ownerId, name, system_prompt: systemPrompt, model } = request.body
    const agent = await admin.createAgent({ ...readOptions(request.body), ownerId, name, systemPrompt, model })
    return reply.code(201).send(writeAgent(agent))
  })

  app.get('/agents', { schema: { querystring: PageQuery } }, async (request) =>
    writePage(await admin.listAgents(readPage(request.query)), writeAgent),
  )

  app.get('/agents/:id', { schema: { params: IdParams } }, async (request) => writeAgent(await admin.findAgent(request.params.id)))

  app.patch('/agents/:id', { schema: { params: IdParams, body: AgentChange } }, async (request) => {
    const { name, system_prompt: systemPrompt, model, enabled } = request.body
    return writeAgent(await admin.changeAgent(request.params.id, { ...readOptions(request.body), name, systemPrompt, model, enabled }))
  })

  app.delete('/agents/:id', { schema: { params: IdParams } }, async (request, reply) => {
    await admin.deleteAgent(request.params.id)
    return reply.code(204).send()
  })

  app.get('/agents/:id/versions', { schema: { params: IdParams, querystring: PageQuery } }, async (request) =>
    writePage(await admin.listAgentVersions(request.params.id, readPage(request.query)), writeVersion),
  )

  app.post('/agents/:id/rollback', { schema: { params: IdParams, body: Rollback } }, async (request) =>
    writeAgent(await admin.rollBackAgent(request.params.id, request.body.version)),
  )
}

type Options = Static<ReturnType<typeof Type.Object<typeof options>>>

function readOptions(body: Options) {
  if (body.tools && body.tools.length > 0)
    throw new ApiError('validation_error', 'tools must be empty: this release runs agents without tools.')
  return {
    price: body.price && readPrice(body.price),
    temperature: body.temperature,
    maxSteps: body.max_steps,
    maxOutputTokens: body.max_output_tokens,
    maxMessageLength: body.max_message_length,
    historyMaxTokens: body.history?.max_tokens,
    knowledge: body.knowledge && { maxTokens: body.knowledge.max_tokens, topK: body.knowledge.top_k },
  }
}

const readPrice = (price: NonNullable<Options['price']>): Price => ({
  promptPerMillion: readPerMillion('price.prompt_usd_per_million', price.prompt_usd_per_million),
  completionPerMillion: readPerMillion('price.completion_usd_per_million', price.completion_usd_per_million),
})

function readPerMillion(field: string, text: string): Amount {
  const amount = readUsd(field, text)
  if (amount < 0n || amount > largestPricePerMillion) {
    throw new ApiError('validation_error', `${field} must be between 0 and ${formatUsd(largestPricePerMillion)}.`)
  }
  return amount
}

const writeAgent = (agent: Agent): object => ({
  id: agent.id,
  owner_id: agent.ownerId,
  version: agent.version,
  enabled: agent.enabled,
  ...writeFields(agent),
  created_at: writeTime(agent.createdAt),
  updated_at: writeTime(agent.updatedAt),
})

const writeVersion = (version: AgentVersion): object => ({
  version: version.version,
  ...writeFields(version),
  created_at: writeTime(version.createdAt),
})

const writeFields = (given: Agent | AgentVersion): object => ({
  name: given.name,
  system_prompt: given.systemPrompt,
  model: given.model,
  price: {
    prompt_usd_per_million: writeUsd(given.price.promptPerMillion),
    completion_usd_per_million: writeUsd(given.price.completionPerMillion),
  },
  max_output_tokens: given.maxOutputTokens,
  temperature: given.temperature,
  max_steps: given.maxSteps,
  max_message_length: given.maxMessageLength,
  history: { max_tokens: given.historyMaxTokens },
  knowledge: { max_tokens: given.knowledge.maxTokens, top_k: given.knowledge.topK },
  tools: [],
})
