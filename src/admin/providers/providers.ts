/**
 * Providers of models. A provider's key is encrypted for its row and its server before the store receives it. It is never returned, never
 * logged, and never sent to another server than the one that it was entered for.
 */
import { splitModel } from '../../agent/agent-config.ts'
import type { Models } from '../../agent/models/models.ts'
import { keyBoundTo, originOf } from '../../config/provider-address.ts'
import { ApiError, invalid } from '../../errors.ts'
import type { Sealer } from '../../config/secrets.ts'
import { pageOf, pageRequest } from '../../store/queries/paging.ts'
import type { Page, PageWanted } from '../../store/queries/paging.ts'
import type { ProviderKind } from '../../provider-kinds.ts'
import type { Provider as StoredProvider } from '../../store/queries/providers.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { builtInProvider } from '../agents/agent-fields.ts'
import { listProviderModels } from './provider-models.ts'
import type { ProviderModels } from './provider-models.ts'
import { testProvider } from './provider-test.ts'
import type { ProviderTest } from './provider-test.ts'
import type { Ids } from '../../ids.ts'

export type Provider = Omit<StoredProvider, 'sealedApiKey'>

export type NewProvider = { name: string; kind: ProviderKind; baseUrl?: string | null | undefined; apiKey: string }
export type ProviderChange = { name?: string | undefined; baseUrl?: string | null | undefined; apiKey?: string | undefined }

/**
 * Each throws ApiError: `not_found`, `validation_error` for an invalid URL or name, `conflict` for a name that is taken or a provider in
 * use.
 */
export type ProvidersAdmin = {
  createProvider(given: NewProvider): Promise<Provider>
  /** Newest first. */
  listProviders(page: PageWanted): Promise<Page<Provider>>
  findProvider(id: string): Promise<Provider>
  /**
   * The kind cannot change. The name of a provider in use cannot change, because agents refer to it. A base URL on another server needs the
   * key in the same change.
   */
  changeProvider(id: string, change: ProviderChange): Promise<Provider>
  /** Refused while the current version of an agent uses it. */
  deleteProvider(id: string): Promise<void>
  /** One small call. A failure is a result, not an error. */
  testProvider(id: string, modelId: string | undefined): Promise<ProviderTest>
  /** The models that it lists now. A failure is a result, not an error. */
  listProviderModels(id: string): Promise<ProviderModels>
}

type Options = { sealer: Sealer; models: Models; newId: Ids['newId'] }

export function createProvidersAdmin({ sealer, models, newId }: Options): PerRequest<ProvidersAdmin> {
  async function stored(store: AdminStore, id: string): Promise<StoredProvider> {
    const provider = await store.read.findProviderById(id)
    if (!provider) throw noSuchProvider()
    return provider
  }

  return {
    async createProvider({ store }, { name, kind, baseUrl = null, apiKey }) {
      refuseBuiltInName(name)
      refuseBaseUrl(kind, baseUrl)
      const id = newId('prv')
      const provider = await store.write.createProvider({
        id,
        name,
        kind,
        baseUrl,
        sealedApiKey: sealer.seal(apiKey, keyBoundTo({ id, kind, baseUrl })),
      })
      if (!provider) throw nameTaken(name)
      return withoutKey(provider)
    },

    async listProviders({ store }, page) {
      const { data, nextCursor } = pageOf(await store.read.listProviders(pageRequest(page)), page)
      return { data: data.map(withoutKey), nextCursor }
    },

    findProvider: async ({ store }, id) => withoutKey(await stored(store, id)),

    async changeProvider({ store }, id, { name, baseUrl, apiKey }) {
      if (name !== undefined) refuseBuiltInName(name)
      for (;;) {
        const before = await stored(store, id)
        if (baseUrl !== undefined) refuseBaseUrl(before.kind, baseUrl)
        const after = { ...before, ...(baseUrl === undefined ? {} : { baseUrl }) }
        if (apiKey === undefined && originOf(after) !== originOf(before)) throw keyNeeded()
        const change = {
          ...(name === undefined ? {} : { name }),
          ...(baseUrl === undefined ? {} : { baseUrl }),
          ...(apiKey === undefined ? {} : { sealedApiKey: sealer.seal(apiKey, keyBoundTo(after)) }),
        }
        const outcome = await store.write.changeProvider(id, change, before.baseUrl)
        switch (outcome.kind) {
          case 'changed':
            return withoutKey(outcome.provider)
          case 'not_found':
            throw noSuchProvider()
          case 'name_taken':
            throw nameTaken(name!)
          case 'in_use':
            throw new ApiError('conflict', `This provider cannot be renamed because the agent ${outcome.agentId} uses it.`, {
              param: 'name',
            })
          case 'stale':
            continue
        }
      }
    },

    async deleteProvider({ store }, id) {
      const outcome = await store.write.deleteProvider(id)
      switch (outcome.kind) {
        case 'deleted':
          return
        case 'not_found':
          throw noSuchProvider()
        case 'in_use':
          throw new ApiError('conflict', `This provider cannot be deleted because the agent ${outcome.agentId} uses it.`)
      }
    },

    async testProvider({ store }, id, modelId) {
      const provider = await stored(store, id)
      const used = modelId === undefined ? await store.read.modelOnProvider(provider.name) : undefined
      return testProvider({ provider, modelId: modelId ?? (used && splitModel(used)?.modelId), sealer, models })
    },

    listProviderModels: async ({ store }, id) => listProviderModels({ provider: await stored(store, id), sealer, models }),
  }
}

const withoutKey = ({ sealedApiKey: _, ...provider }: StoredProvider): Provider => provider

function refuseBuiltInName(name: string): void {
  if (name === builtInProvider) throw invalid('name', `The name ${name} is reserved for the built-in demo model.`)
}

// Query parameters in which gateways expect credentials. They would be stored unencrypted and shown to everyone who can read the provider.
const secretName = /(^|[_-])(api)?[_-]?(key|token|secret|password|signature|sig|auth)$/i

/** The host is the operator's choice. A password or a key in the URL would be stored unencrypted, so it is refused. */
function refuseBaseUrl(kind: ProviderKind, baseUrl: string | null): void {
  if (baseUrl === null) {
    if (kind === 'openai-compatible') throw invalid('base_url', 'base_url is required for a provider of the kind openai-compatible.')
    return
  }
  const url = /[\s\p{Cc}]/u.test(baseUrl) ? null : URL.parse(baseUrl)
  const fits = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === ''
  if (!fits) throw invalid('base_url', 'base_url must be an http or https URL without a user name, password or fragment.')
  const secret = [...url.searchParams.keys()].find((name) => secretName.test(name))
  if (secret !== undefined)
    throw invalid('base_url', 'base_url must not contain a key or token in its query. Send it as api_key, which is stored encrypted.')
}

const keyNeeded = (): ApiError =>
  invalid('api_key', 'api_key must be sent again, because base_url points to another server than the one that has the stored key.')
const noSuchProvider = (): ApiError => new ApiError('not_found', 'This provider does not exist.')
const nameTaken = (name: string): ApiError => new ApiError('conflict', `A provider named ${name} already exists.`, { param: 'name' })
