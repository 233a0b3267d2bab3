/** The admin routes for agents and their versions. Request bodies are defined in agent-bodies.ts. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import type { Principal } from '../../../operators/principal.ts'
import { manyValues } from '../../edge/request-body.ts'
import { refuseWithout } from '../permissions.ts'
import { ApiError, invalid } from '../../../errors.ts'
import { formatUsd, maxPricePerMillion } from '../../../ledger/ledger.ts'
import type { Amount, Price } from '../../../ledger/ledger.ts'
import { Agent as AgentAnswer, AgentVersion as VersionAnswer, PriceOfVersion } from './agent-answers.ts'
import { AgentChange, NewAgent, Rollback } from './agent-bodies.ts'
import type { GivenPrice } from './agent-bodies.ts'
import { about, answers, gone, made, pageOf } from '../answers.ts'
import { AgentParams, PageQuery, readPage, readUsd, writePage, writePrice, writePriceSource, writeTime } from '../fields.ts'
import { agentFields } from '../../../resources/agent.ts'
import { readChange, writerOf } from '../wire.ts'
import { readSpendLimits, writeSpendLimits } from './spend-limit-fields.ts'
import { readTool, writeTool } from './tools.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'

type Agent = Awaited<ReturnType<AdminCalls['findAgent']>>
type AgentVersion = Awaited<ReturnType<AdminCalls['listAgentVersions']>>['data'][number]

export const agentRoutes: TypedRoutes = async (app) => {
  app.post(
    '/agents',
    {
      config: { maxJsonValues: manyValues },
      schema: {
        ...about(
          'Agents',
          'createAgent',
          'Create an agent',
          'Creates the first version. The response contains the defaults of omitted fields. `price` is required if the price of the model is not known.',
        ),
        body: NewAgent,
        response: made(AgentAnswer),
      },
    },
    async (request, reply) => {
      const { owner_id: ownerId, name, system_prompt: systemPrompt, model } = request.body
      refusePrices(request.principal, request.body)
      const agent = await request.admin.createAgent({ ...readOptions(request.body), ownerId, name, systemPrompt, model })
      return reply.code(201).send(writeAgent(agent))
    },
  )

  app.get(
    '/agents',
    {
      schema: {
        ...about(
          'Agents',
          'listAgents',
          'List agents, newest first',
          'Returns the current version of each agent. Deleted agents are not included.',
        ),
        querystring: PageQuery,
        response: answers(pageOf(AgentAnswer)),
      },
    },
    async (request) => writePage(await request.admin.listAgents(readPage(request.query)), writeAgent),
  )

  app.get(
    '/agents/:id',
    {
      schema: {
        ...about(
          'Agents',
          'findAgent',
          'Get an agent',
          'Returns the current version. Of the headers and secrets of its tools, only the names are returned.',
        ),
        params: AgentParams,
        response: answers(AgentAnswer, 'not_found'),
      },
    },
    async (request) => writeAgent(await request.admin.findAgent(request.params.id)),
  )

  app.patch(
    '/agents/:id',
    {
      config: { maxJsonValues: manyValues },
      schema: {
        ...about(
          'Agents',
          'changeAgent',
          'Update an agent',
          'Creates a new version, unless only `enabled` and `spend_limits` change. Omitted fields are unchanged. Running turns keep the version they started with.',
        ),
        params: AgentParams,
        body: AgentChange,
        response: answers(AgentAnswer, 'not_found'),
      },
    },
    async (request) => {
      if (Object.keys(request.body).some((field) => field !== 'spend_limits')) refuseWithout(request.principal, 'agents')
      refusePrices(request.principal, request.body)
      if (request.body.tools && request.principal.scope) refusePricedTools(await request.admin.findAgent(request.params.id))
      return writeAgent(await request.admin.changeAgent(request.params.id, { ...readOptions(request.body), enabled: request.body.enabled }))
    },
  )

  app.delete(
    '/agents/:id',
    {
      schema: {
        ...about(
          'Agents',
          'deleteAgent',
          'Delete an agent',
          'Running turns finish. Requests with the keys of the agent get 404 `agent_not_found`. Its documents are deleted a few minutes later. Conversations, usage figures and the ledger are kept.',
        ),
        params: AgentParams,
        response: gone('not_found'),
      },
    },
    async (request, reply) => {
      await request.admin.deleteAgent(request.params.id)
      return reply.code(204).send()
    },
  )
}

export const versionRoutes: TypedRoutes = async (app) => {
  app.get(
    '/agents/:id/versions',
    {
      schema: {
        ...about(
          'Agents',
          'listAgentVersions',
          'List the versions of an agent, newest first',
          'Each version includes its complete content.',
        ),
        params: AgentParams,
        querystring: PageQuery,
        response: answers(pageOf(VersionAnswer), 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listAgentVersions(request.params.id, readPage(request.query)), writeVersion),
  )

  app.get(
    '/agents/:id/prices',
    {
      schema: {
        ...about(
          'Agents',
          'listPrices',
          'List the prices of an agent, newest first',
          'Each price with the version in which it became that of new turns, where it comes from, and when. A turn keeps the price of its admission.',
        ),
        params: AgentParams,
        querystring: PageQuery,
        response: answers(pageOf(PriceOfVersion), 'not_found'),
      },
    },
    async (request) => writePage(await request.admin.listPrices(request.params.id, readPage(request.query)), writePriceOfVersion),
  )

  app.post(
    '/agents/:id/rollback',
    {
      schema: {
        ...about(
          'Agents',
          'rollBackAgent',
          'Roll back an agent to an earlier version',
          'Creates a new version with the content of the earlier one. No version is deleted.',
        ),
        params: AgentParams,
        body: Rollback,
        response: answers(AgentAnswer, 'not_found', 'conflict'),
      },
    },
    async (request) => writeAgent(await request.admin.rollBackAgent(request.params.id, request.body.version)),
  )
}

/** A customer must not set what it pays for. */
function refusePrices({ scope }: Principal, { price, tools }: Static<typeof AgentChange>): void {
  if (scope === null) return
  const given = price !== undefined ? 'price' : tools?.some((tool) => 'price_usd' in tool) ? 'price_usd of a tool' : undefined
  if (given !== undefined) throw new ApiError('forbidden', `You are restricted to one owner, and may not set ${given}.`)
}

/** New tools would replace those with a price. */
function refusePricedTools({ tools }: Agent): void {
  if (tools.some(({ price = 0n }) => price > 0n))
    throw new ApiError(
      'forbidden',
      'You are restricted to one owner, and may not replace the tools of this agent: one of them has a price.',
    )
}

function readOptions(body: Static<typeof AgentChange>) {
  return {
    ...readChange(agentFields, body),
    price: body.price && readPrice(body.price),
    tools: body.tools?.map((tool, index) => readTool(tool, `tools.${index}`)),
    spendLimits: body.spend_limits && readSpendLimits(body.spend_limits),
  }
}

const readPrice = (price: GivenPrice): Price => ({
  promptPerMillion: readPerMillion('price.prompt_usd_per_million', price.prompt_usd_per_million),
  completionPerMillion: readPerMillion('price.completion_usd_per_million', price.completion_usd_per_million),
  cachedPromptPerMillion: readPerMillionOrNull('price.cached_prompt_usd_per_million', price.cached_prompt_usd_per_million),
  cacheWritePerMillion: readPerMillionOrNull('price.cache_write_usd_per_million', price.cache_write_usd_per_million),
})

const readPerMillionOrNull = (field: string, text: string | null | undefined): Amount | null =>
  typeof text === 'string' ? readPerMillion(field, text) : null

function readPerMillion(field: string, text: string): Amount {
  const amount = readUsd(field, text)
  if (amount < 0n || amount > maxPricePerMillion) {
    throw invalid(field, `${field} must be between 0 and ${formatUsd(maxPricePerMillion)}.`)
  }
  return amount
}

const writeAgent = (agent: Agent): Static<typeof AgentAnswer.ref> => ({
  id: agent.id,
  owner_id: agent.ownerId,
  version: agent.version,
  enabled: agent.enabled,
  spend_limits: writeSpendLimits(agent.spendLimits),
  warnings: agent.warnings,
  ...writeContent(agent),
  created_at: writeTime(agent.createdAt),
  updated_at: writeTime(agent.updatedAt),
})

const writeVersion = (version: AgentVersion): Static<typeof VersionAnswer.ref> => ({
  version: version.version,
  ...writeContent(version),
  created_at: writeTime(version.createdAt),
})

const writePriceOfVersion = (version: AgentVersion): Static<typeof PriceOfVersion.ref> => ({
  version: version.version,
  price: writePrice(version.price),
  price_source: writePriceSource(version.priceSource),
  created_at: writeTime(version.createdAt),
})

const writeSettings = writerOf(agentFields)

function writeContent(given: Agent | AgentVersion) {
  const { name, system_prompt, model, ...settings } = writeSettings(given)
  const price = { price: writePrice(given.price), price_source: writePriceSource(given.priceSource) }
  return { name, system_prompt, model, ...price, ...settings, tools: given.tools.map(writeTool) }
}
