/** /agents and their versions, on the wire: fields, bounds and names. Defaults and prices are the admin room's. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from 'typebox'
import type { AdminCalls } from '../admin/admin.ts'
import { ApiError } from '../errors.ts'
import { formatUsd, largestPricePerMillion } from '../ledger/ledger.ts'
import type { Amount, Price } from '../ledger/ledger.ts'
import { Agent as AgentAnswer, AgentVersion as VersionAnswer, ToolDifferences } from './admin-agent-answers.ts'
import { about, answers, gone, made, pageOf } from './admin-answers.ts'
import { Id, IdParams, Name, PageQuery, Usd, readPage, readUsd, wellFormed, writePage, writePrice, writeTime } from './admin-fields.ts'
import { Tools, readTool, writeDifference, writeTool } from './admin-tools.ts'
import { longestMessage } from './invalid-input.ts'
import { Type } from './schema.ts'

type Agent = Awaited<ReturnType<AdminCalls['findAgent']>>
type AgentVersion = Awaited<ReturnType<AdminCalls['listAgentVersions']>>['data'][number]

const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const closed = { additionalProperties: false } as const

// The bounds keep the largest hold below two million tokens, which ledger.ts says still fits a column at the highest price: system prompt
// 200,000 (four bytes a code point) + tools 100,000 (admin/agent-tools.ts) + history + knowledge + message 500,000 (the largest body) + output.
export const Model = Type.String({ minLength: 3, maxLength: 300, pattern: '^[^/\\s]+/[^\\u0000-\\u001f\\p{Cs}]+$' })
const fields = {
  name: Name,
  system_prompt: wellFormed({ maxLength: 100_000 }),
  model: Model,
}
const options = {
  price: Type.Optional(Type.Object({ prompt_usd_per_million: Usd, completion_usd_per_million: Usd }, closed)),
  max_output_tokens: Type.Optional(whole(1, 200_000)),
  temperature: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])),
  max_steps: Type.Optional(whole(1, 32)),
  max_tool_calls: Type.Optional(whole(0, 128)),
  max_message_length: Type.Optional(whole(1, longestMessage)),
  history: Type.Optional(
    Type.Object(
      {
        max_tokens: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 800_000,
            description: 'Absent at creation: 8,000, or what a smaller window of the model leaves, where its window is known.',
          }),
        ),
      },
      closed,
    ),
  ),
  knowledge: Type.Optional(
    Type.Object(
      {
        max_tokens: Type.Optional(whole(0, 100_000)),
        top_k: Type.Optional(whole(0, 50)),
        embedding_model: Type.Optional(
          Type.Union([Model, Type.Null()], {
            description: '"<provider name>/<model id>": passages are found by meaning too. null: by words alone.',
          }),
        ),
        language: Type.Optional(
          Type.Union([Type.String({ minLength: 1, maxLength: 40 }), Type.Null()], {
            description: 'Of the documents, so that "shipping" is found by "ship". null: english; none: words as they are written.',
          }),
        ),
      },
      closed,
    ),
  ),
  tools: Type.Optional(Tools),
}
const NewAgent = Type.Object({ owner_id: Id, ...fields, ...options }, closed)
const AgentChange = Type.Object(
  { ...Type.Partial(Type.Object(fields)).properties, ...options, enabled: Type.Optional(Type.Boolean()) },
  closed,
)
const Rollback = Type.Object({ version: whole(1, 2 ** 31) }, closed)
/** May be left out. */
const Refresh = Type.Union([
  Type.Object({ approve: Type.Optional(Type.Boolean({ description: 'Pins what the servers offer now, in a new version.' })) }, closed),
  Type.Null(),
])

export const agentRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/agents',
    { schema: { ...about('Agents', 'createAgent', 'Make an agent'), body: NewAgent, response: made(AgentAnswer, 'validation_error') } },
    async (request, reply) => {
      const { owner_id: ownerId, name, system_prompt: systemPrompt, model } = request.body
      const agent = await request.admin.createAgent({ ...readOptions(request.body), ownerId, name, systemPrompt, model })
      return reply.code(201).send(writeAgent(agent))
    },
  )

  app.get(
    '/agents',
    {
      schema: {
        ...about('Agents', 'listAgents', 'List agents, newest first'),
        querystring: PageQuery,
        response: answers(pageOf(AgentAnswer), 'validation_error'),
      },
    },
    async (request) => writePage(await request.admin.listAgents(readPage(request.query)), writeAgent),
  )

  app.get(
    '/agents/:id',
    { schema: { ...about('Agents', 'findAgent', 'Read an agent'), params: IdParams, response: answers(AgentAnswer, 'not_found') } },
    async (request) => writeAgent(await request.admin.findAgent(request.params.id)),
  )

  app.patch(
    '/agents/:id',
    {
      schema: {
        ...about('Agents', 'changeAgent', 'Change an agent: a new version, save for enabled'),
        params: IdParams,
        body: AgentChange,
        response: answers(AgentAnswer, 'validation_error', 'not_found'),
      },
    },
    async (request) => {
      const { name, system_prompt: systemPrompt, model, enabled } = request.body
      return writeAgent(
        await request.admin.changeAgent(request.params.id, { ...readOptions(request.body), name, systemPrompt, model, enabled }),
      )
    },
  )

  app.delete(
    '/agents/:id',
    {
      schema: { ...about('Agents', 'deleteAgent', 'Delete an agent; running turns finish'), params: IdParams, response: gone('not_found') },
    },
    async (request, reply) => {
      await request.admin.deleteAgent(request.params.id)
      return reply.code(204).send()
    },
  )

  app.get(
    '/agents/:id/versions',
    {
      schema: {
        ...about('Agents', 'listAgentVersions', 'List versions, newest first'),
        params: IdParams,
        querystring: PageQuery,
        response: answers(pageOf(VersionAnswer), 'validation_error', 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listAgentVersions(request.params.id, readPage(request.query)), writeVersion),
  )

  app.post(
    '/agents/:id/rollback',
    {
      schema: {
        ...about('Agents', 'rollBackAgent', 'Make a new version with the content of an old one'),
        params: IdParams,
        body: Rollback,
        response: answers(AgentAnswer, 'validation_error', 'not_found', 'conflict'),
      },
    },
    async (request) => writeAgent(await request.admin.rollBackAgent(request.params.id, request.body.version)),
  )

  app.post(
    '/agents/:id/tools/refresh',
    {
      schema: {
        ...about('Agents', 'refreshTools', 'Ask the MCP servers again: what differs from what was approved'),
        params: IdParams,
        body: Refresh,
        response: answers(ToolDifferences, 'validation_error', 'not_found'),
      },
    },
    async (request) => {
      const { differences, version } = await request.admin.refreshTools(request.params.id, request.body?.approve ?? false)
      return { data: differences.map(writeDifference), version }
    },
  )
}

type Options = Static<ReturnType<typeof Type.Object<typeof options>>>

function readOptions(body: Options) {
  return {
    price: body.price && readPrice(body.price),
    temperature: body.temperature,
    maxSteps: body.max_steps,
    maxToolCalls: body.max_tool_calls,
    maxOutputTokens: body.max_output_tokens,
    maxMessageLength: body.max_message_length,
    historyMaxTokens: body.history?.max_tokens,
    knowledge: body.knowledge && {
      maxTokens: body.knowledge.max_tokens,
      topK: body.knowledge.top_k,
      embeddingModel: body.knowledge.embedding_model,
      language: body.knowledge.language,
    },
    tools: body.tools?.map(readTool),
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
  price: writePrice(given.price),
  max_output_tokens: given.maxOutputTokens,
  temperature: given.temperature,
  max_steps: given.maxSteps,
  max_tool_calls: given.maxToolCalls,
  max_message_length: given.maxMessageLength,
  history: { max_tokens: given.historyMaxTokens },
  knowledge: {
    max_tokens: given.knowledge.maxTokens,
    top_k: given.knowledge.topK,
    embedding_model: given.knowledge.embeddingModel,
    language: given.knowledge.language,
  },
  tools: given.tools.map(writeTool),
})
