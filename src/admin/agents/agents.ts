/**
 * Agents and their versions. Every change creates a new version, except for enabling and disabling and spend limits. A turn uses its version
 * until it ends, regardless of later changes.
 */
import { isDeepStrictEqual } from 'node:util'
import { splitModel } from '../../agent/agent-config.ts'
import { ApiError, invalid } from '../../errors.ts'
import type { Guard } from '../../agent/guard/guard.ts'
import { canEmbed } from '../../agent/models/models.ts'
import type { Tools } from '../../agent/tools/tools.ts'
import type { Sealer } from '../../config/secrets.ts'
import type { Agent as StoredAgent, ChangeAgentOutcome } from '../../store/queries/agents.ts'
import type { AgentContent, AgentVersion as StoredVersion } from '../../store/queries/agent-versions.ts'
import type { NewSpendLimit } from '../../store/queries/spend-limits.ts'
import { isLanguage, languages } from '../../store/queries/knowledge/stems.ts'
import { pageOf, pageRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { PerRequest, AdminRequest } from '../admin-store.ts'
import { changedFields, contentOf, fieldsOf, newFields, providersOf, smallestHold } from './agent-fields.ts'
import type { AgentFields, GivenFields } from './agent-fields.ts'
import { limitWarnings } from './spend-limits.ts'
import { createToolsOfAgents, differencesOf, isSameServer, refuseDefinitions, showTool, unusableOf } from './agent-tools.ts'
import type { GivenTool, ShownTool, ToolComparison } from './agent-tools.ts'
import { findKnown } from '../providers/model-prices.ts'
import { nearestProvider, refuseUnknownProvider } from '../providers/unknown-provider.ts'
import type { Ids } from '../../ids.ts'

/** Contains no value of a header or secret of a tool. */
export type ShownFields = Omit<AgentFields, 'tools'> & { tools: ShownTool[] }

export type Agent = ShownFields & {
  id: string
  ownerId: string
  version: number
  enabled: boolean
  /** `billing.spend-limit` */
  spendLimits: NewSpendLimit[]
  /** What is allowed, but surely not intended. */
  warnings: string[]
  createdAt: number
  /** The time of the last change of a version, of `enabled` or of the spend limits. */
  updatedAt: number
}

export type AgentVersion = ShownFields & { version: number; createdAt: number }

type Given = Omit<GivenFields, 'tools'> & { tools?: GivenTool[] | undefined; spendLimits?: NewSpendLimit[] | undefined }
export type NewAgent = Given & { ownerId: string; name: string; systemPrompt: string; model: string }
export type AgentChange = Given & { enabled?: boolean | undefined }

/** Each throws ApiError `not_found` for an agent that does not exist or was deleted. */
export type AgentsAdmin = {
  /**
   * Throws ApiError `validation_error` if the owner or the provider does not exist, the model is invalid, its price is not known, a tool is
   * invalid, or an MCP server cannot be called.
   */
  createAgent(given: NewAgent): Promise<Agent>
  /** Newest first. */
  listAgents(page: PageWanted): Promise<Page<Agent>>
  findAgent(id: string): Promise<Agent>
  /** Creates a new version if anything but `enabled` and the spend limits differs. Throws as `createAgent`. */
  changeAgent(id: string, change: AgentChange): Promise<Agent>
  /** Soft: running turns finish. Keys stay valid, and their requests get `agent_not_found`. */
  deleteAgent(id: string): Promise<void>
  /** Newest first. */
  listAgentVersions(id: string, page: PageWanted): Promise<Page<AgentVersion>>
  /** The versions in which the price changed, newest first. */
  listPrices(id: string, page: PageWanted): Promise<Page<AgentVersion>>
  /** Creates a new version with the content of an old one. Throws ApiError `conflict` if its provider no longer exists. */
  rollBackAgent(id: string, version: number): Promise<Agent>
  /** Calls the MCP servers again. With `approve`, pins what they offer now in a new version. Throws as `createAgent`. */
  refreshTools(id: string, approve: boolean): Promise<ToolComparison>
}

type Options = {
  sealer: Sealer
  tools: Pick<Tools, 'pin'>
  guard: Pick<Guard, 'refusedAddress'>
  newId: Ids['newId']
}

export function createAgentsAdmin({ sealer, tools, guard, newId }: Options): PerRequest<AgentsAdmin> {
  const toolsOf = createToolsOfAgents({ sealer, tools, guard })

  async function stored(request: AdminRequest, id: string): Promise<StoredAgent> {
    const agent = await request.store.read.findAgent(id)
    if (!agent) throw noSuchAgent()
    return agent
  }

  /** Decides on the current version and writes. If another change was first, decides again on its result. */
  async function change(
    request: AdminRequest,
    id: string,
    { enabled, spendLimits }: Pick<AgentChange, 'enabled' | 'spendLimits'>,
    decide: (present: StoredVersion) => AgentContent | Promise<AgentContent>,
  ): Promise<ChangeAgentOutcome> {
    for (;;) {
      const agent = await stored(request, id)
      const { present } = agent
      const content = await decide(present)
      const differs = !isDeepStrictEqual(content, contentOf(fieldsOf(present)))
      const limits = spendLimits && !isSameLimits(spendLimits, agent.spendLimits) ? spendLimits : undefined
      if (!differs && !limits && (enabled ?? agent.enabled) === agent.enabled) return { kind: 'changed', agent }
      const next = differs ? { after: present.version, ...providersOf(content), content } : undefined
      const outcome = await request.store.write.changeAgent({ id, enabled, spendLimits: limits, next })
      if (outcome.kind === 'changed' && !isDeepStrictEqual(indexedAs(present), indexedAs(outcome.agent.present)))
        await request.store.write.requeueDocuments({ agentId: id })
      if (outcome.kind !== 'stale') return outcome
    }
  }

  async function refuseKnowledge(request: AdminRequest, { knowledge }: Given): Promise<void> {
    const { embeddingModel, language } = knowledge ?? {}
    if (typeof language === 'string' && !isLanguage(language))
      throw invalid('knowledge.language', `knowledge.language must be one of ${languages.join(', ')}, or null for english.`)
    if (typeof embeddingModel !== 'string') return
    const name = splitModel(embeddingModel)
    const provider = name && (await request.store.read.findProvider(name.provider))
    if (!provider)
      throw invalid(
        'knowledge.embedding_model',
        `The provider of the embedding model ${embeddingModel} does not exist.${await nearestProvider(request, name?.provider ?? embeddingModel)}`,
      )
    if (!canEmbed(provider.kind))
      throw invalid(
        'knowledge.embedding_model',
        `The provider ${provider.name} cannot create embeddings${request.scope ? '' : `, because its kind is ${provider.kind}`}.`,
      )
  }

  return {
    async createAgent(request, { ownerId, spendLimits, ...given }) {
      const id = newId('agt')
      await refuseKnowledge(request, given)
      // Before the price is looked up: a model of an unknown provider has none, and asking for a price would be the wrong advice.
      await refuseUnknownProvider(request, given.model, 'model')
      const known = await findKnown(request.store, given.model)
      const fields = newFields({ ...given, tools: given.tools && (await toolsOf.resolve(given.tools, [], id, new Map())) }, known)
      const content = contentOf(fields)
      const outcome = await request.store.write.createAgent({ id, ownerId, ...providersOf(content), content, spendLimits })
      switch (outcome.kind) {
        case 'created':
          return show(outcome.agent)
        case 'owner_not_found':
          throw invalid('owner_id', 'The owner with this owner_id does not exist.')
        case 'provider_not_found':
          throw noProviderOf(fields.model)
        case 'embedding_provider_not_found':
          throw noEmbeddingProviderOf(fields.knowledge.embeddingModel ?? '')
      }
    },

    async listAgents(request, page) {
      const { data, nextCursor } = pageOf(await request.store.read.listAgents({}, pageRequest(page)), page)
      return { data: data.map(show), nextCursor }
    },

    findAgent: async (request, id) => show(await stored(request, id)),

    async changeAgent(request, id, { enabled, spendLimits, ...given }) {
      await stored(request, id)
      await refuseKnowledge(request, given)
      if (given.model !== undefined) await refuseUnknownProvider(request, given.model, 'model')
      const known = await findKnown(request.store, given.model)
      const asked = new Map()
      const outcome = await change(request, id, { enabled, spendLimits }, async (present) => {
        const fields = fieldsOf(present)
        const resolved = given.tools && (await toolsOf.resolve(given.tools, fields.tools, id, asked))
        return contentOf(changedFields(fields, { ...given, tools: resolved }, known))
      })
      if (outcome.kind === 'changed') return show(outcome.agent)
      if (outcome.kind === 'embedding_provider_not_found') {
        const { knowledge } = fieldsOf((await stored(request, id)).present)
        throw noEmbeddingProviderOf(given.knowledge?.embeddingModel ?? knowledge.embeddingModel ?? '')
      }
      throw outcome.kind === 'provider_not_found' ? noProviderOf(given.model ?? '') : noSuchAgent()
    },

    async deleteAgent(request, id) {
      if (!(await request.store.write.deleteAgent(id))) throw noSuchAgent()
    },

    async listAgentVersions(request, id, page) {
      await stored(request, id)
      const { data, nextCursor } = pageOf(await request.store.read.listAgentVersions(id, pageRequest(page)), page)
      return { data: data.map(showVersion), nextCursor }
    },

    async listPrices(request, id, page) {
      await stored(request, id)
      const { data, nextCursor } = pageOf(await request.store.read.listPriceChanges(id, pageRequest(page)), page)
      return { data: data.map(showVersion), nextCursor }
    },

    async rollBackAgent(request, id, version) {
      await stored(request, id)
      const old = await request.store.read.agentVersion(id, version)
      if (!old) throw new ApiError('not_found', `This agent has no version ${version}.`)
      const outcome = await change(request, id, {}, () => contentOf(fieldsOf(old)))
      if (outcome.kind === 'changed') return show(outcome.agent)
      const { embeddingModel } = fieldsOf(old).knowledge
      if (outcome.kind === 'embedding_provider_not_found')
        throw new ApiError('conflict', `Version ${version} uses the embedding model ${embeddingModel}, whose provider no longer exists.`)
      throw outcome.kind === 'provider_not_found'
        ? new ApiError('conflict', `Version ${version} uses the model ${old.model}, whose provider no longer exists.`)
        : noSuchAgent()
    },

    async refreshTools(request, id, approve) {
      const { present } = await stored(request, id)
      const { tools: pinned } = fieldsOf(present)
      const now = await toolsOf.pinAgain(pinned, id)
      const servers = pinned.filter((tool) => tool.type === 'mcp')
      const found = servers.flatMap((server, index) => differencesOf(server, now[index]!.pinned))
      const unusable = now.flatMap(unusableOf)
      if (!approve || found.length === 0) return { differences: found, unusable, version: present.version }
      const outcome = await change(request, id, {}, (version) => {
        const fields = fieldsOf(version)
        const approved = fields.tools.map((tool) => (tool.type === 'mcp' ? (now.find((one) => isSameServer(one, tool)) ?? tool) : tool))
        refuseDefinitions(approved, null)
        return contentOf({ ...fields, tools: approved })
      })
      if (outcome.kind !== 'changed') throw noSuchAgent()
      return { differences: found, unusable, version: outcome.agent.present.version }
    },
  }
}

const show = ({ present, ...agent }: StoredAgent): Agent => ({
  ...agent,
  ...showFields(present),
  version: present.version,
  warnings: limitWarnings(agent.spendLimits, smallestHold(fieldsOf(present))),
})
const showVersion = (version: StoredVersion): AgentVersion => ({
  ...showFields(version),
  version: version.version,
  createdAt: version.createdAt,
})

function showFields(version: StoredVersion): ShownFields {
  const fields = fieldsOf(version)
  return { ...fields, tools: fields.tools.map(showTool) }
}

/** The settings of a version that its documents are indexed with. */
function indexedAs(version: StoredVersion): object {
  const { language, embeddingModel } = fieldsOf(version).knowledge
  return { language, embeddingModel }
}

const isSameLimits = (given: NewSpendLimit[], stored: NewSpendLimit[]): boolean =>
  isDeepStrictEqual(
    given.map(({ scope, span, amount }) => [scope, span, amount]),
    stored.map(({ scope, span, amount }) => [scope, span, amount]),
  )

const noEmbeddingProviderOf = (model: string): ApiError =>
  invalid('knowledge.embedding_model', `The provider of the embedding model ${model} does not exist.`)
const noSuchAgent = (): ApiError => new ApiError('not_found', 'This agent does not exist.')
const noProviderOf = (model: string): ApiError => invalid('model', `The provider of the model ${model} does not exist.`)
