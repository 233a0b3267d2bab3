/**
 * Agents and their versions: every change makes a new version, save switching on and off. A turn runs on its version to the end, whatever is
 * done here meanwhile. Surfaces: /agents.
 */
import { isDeepStrictEqual } from 'node:util'
import { splitModel } from '../agent/agent-config.ts'
import { ApiError } from '../errors.ts'
import type { Price } from '../ledger/ledger.ts'
import type { Agent as StoredAgent, AgentContent, AgentVersion as StoredVersion, ChangeAgentOutcome } from '../store/cold/agents.ts'
import { pageOf, pageRequest } from '../store/cold/paging.ts'
import type { Page, PageWanted } from '../store/cold/paging.ts'
import type { AdminStore } from './admin-store.ts'
import { changedFields, contentOf, fieldsOf, newFields, providerOf } from './agent-fields.ts'
import type { AgentFields, GivenFields } from './agent-fields.ts'
import { knownPrice } from './known-price.ts'
import type { Ids } from '../ids.ts'

export type Agent = AgentFields & {
  id: string
  ownerId: string
  version: number
  enabled: boolean
  createdAt: number
  /** Of the last change, to a version or to `enabled`. */
  updatedAt: number
}

export type AgentVersion = AgentFields & { version: number; createdAt: number }

export type NewAgent = GivenFields & { ownerId: string; name: string; systemPrompt: string; model: string }
export type AgentChange = GivenFields & { enabled?: boolean | undefined }

/** Each throws ApiError `not_found` for an agent that is unknown or deleted. */
export type AgentsAdmin = {
  /** Throws ApiError `validation_error` for an owner, a model or a provider that does not exist, and for a price that is not known. */
  createAgent(given: NewAgent): Promise<Agent>
  /** Newest first. */
  listAgents(page: PageWanted): Promise<Page<Agent>>
  findAgent(id: string): Promise<Agent>
  /** A new version where anything but `enabled` differs. Throws as `createAgent`. */
  changeAgent(id: string, change: AgentChange): Promise<Agent>
  /** Soft: running turns finish, keys stay valid and are answered `agent_not_found`. */
  deleteAgent(id: string): Promise<void>
  /** Newest first. */
  listAgentVersions(id: string, page: PageWanted): Promise<Page<AgentVersion>>
  /** A new version with the content of an old one. Throws ApiError `conflict` where its provider is gone. */
  rollBackAgent(id: string, version: number): Promise<Agent>
}

export function createAgentsAdmin({ store, newId }: { store: AdminStore; newId: Ids['newId'] }): AgentsAdmin {
  async function stored(id: string): Promise<StoredAgent> {
    const agent = await store.read('findAgent', id)
    if (!agent) throw noSuchAgent()
    return agent
  }

  /** Decides on the present version and writes; where another change came first, decides anew on what it left. */
  async function change(
    id: string,
    enabled: boolean | undefined,
    decide: (present: StoredVersion) => AgentContent,
  ): Promise<ChangeAgentOutcome> {
    for (;;) {
      const agent = await stored(id)
      const { present } = agent
      const content = decide(present)
      const differs = !isDeepStrictEqual(content, contentOf(fieldsOf(present)))
      if (!differs && (enabled ?? agent.enabled) === agent.enabled) return { kind: 'changed', agent }
      const next = differs ? { after: present.version, provider: providerOf(content.model), content } : undefined
      const outcome = await store.write('changeAgent', { id, enabled, next })
      if (outcome.kind !== 'stale') return outcome
    }
  }

  /** What the provider of the model lists for it; not looked up where a price is given. */
  async function priceKnownOf({ model, price }: GivenFields): Promise<Price | undefined> {
    const name = model === undefined || price !== undefined ? undefined : splitModel(model)
    const provider = name && (await store.read('findProvider', name.provider))
    return provider && knownPrice(provider, name.modelId)
  }

  return {
    async createAgent({ ownerId, ...given }) {
      const fields = newFields(given, await priceKnownOf(given))
      const provider = providerOf(fields.model)
      const outcome = await store.write('createAgent', { id: newId('agt'), ownerId, provider, content: contentOf(fields) })
      switch (outcome.kind) {
        case 'created':
          return show(outcome.agent)
        case 'owner_not_found':
          throw new ApiError('validation_error', 'There is no owner with this id.')
        case 'provider_not_found':
          throw noProviderOf(fields.model)
      }
    },

    async listAgents(page) {
      const { data, nextCursor } = pageOf(await store.read('listAgents', pageRequest(page)), page)
      return { data: data.map(show), nextCursor }
    },

    findAgent: async (id) => show(await stored(id)),

    async changeAgent(id, { enabled, ...given }) {
      const known = await priceKnownOf(given)
      const outcome = await change(id, enabled, (present) => contentOf(changedFields(fieldsOf(present), given, known)))
      if (outcome.kind === 'changed') return show(outcome.agent)
      throw outcome.kind === 'provider_not_found' ? noProviderOf(given.model ?? '') : noSuchAgent()
    },

    async deleteAgent(id) {
      if (!(await store.write('deleteAgent', id))) throw noSuchAgent()
    },

    async listAgentVersions(id, page) {
      await stored(id)
      const { data, nextCursor } = pageOf(await store.read('listAgentVersions', id, pageRequest(page)), page)
      return { data: data.map(showVersion), nextCursor }
    },

    async rollBackAgent(id, version) {
      await stored(id)
      const old = await store.read('agentVersion', id, version)
      if (!old) throw new ApiError('not_found', `This agent has no version ${version}.`)
      const outcome = await change(id, undefined, () => contentOf(fieldsOf(old)))
      if (outcome.kind === 'changed') return show(outcome.agent)
      throw outcome.kind === 'provider_not_found'
        ? new ApiError('conflict', `Version ${version} runs on ${old.model}, and its provider no longer exists.`)
        : noSuchAgent()
    },
  }
}

const show = ({ present, ...agent }: StoredAgent): Agent => ({ ...agent, ...fieldsOf(present), version: present.version })
const showVersion = (version: StoredVersion): AgentVersion => ({
  ...fieldsOf(version),
  version: version.version,
  createdAt: version.createdAt,
})

const noSuchAgent = (): ApiError => new ApiError('not_found', 'There is no such agent.')
const noProviderOf = (model: string): ApiError => new ApiError('validation_error', `There is no provider for the model ${model}.`)
