/** Opens the snapshot a turn runs on: a version never changes, so it is read once; its provider may change, so that is read afresh. */
import { ModelError } from './model.ts'
import type { Model } from './model.ts'
import type { Models } from './models.ts'
import { parseAgentConfig, splitModel } from './agent-config.ts'
import type { AgentConfig } from './agent-config.ts'
import { UnsealError } from '../secrets.ts'
import type { Sealer } from '../secrets.ts'
import type { Store } from '../store/store.ts'
import { SharedReads } from './shared-reads.ts'

// A version is a few KiB; 1,000 of them is what a process of many agents holds without being felt.
const mostVersions = 1000
// A provider's key or address is used by every process within a second of its change (surfaces, keys); here the same bound.
const providerAgeMs = 1000

export type OpenVersion =
  | { kind: 'open'; config: AgentConfig; model: Model; modelId: string }
  /** The provider is gone or cannot be opened: the operator's to mend. */
  | { kind: 'refused'; cause: string }

type OpenProvider = { model: Model; readAt: number }

export function createVersions({ store, sealer, models }: { store: Store; sealer: Sealer; models: Models }) {
  const configs = new Map<string, AgentConfig>()
  const providers = new Map<string, OpenProvider>()
  const configReads = new SharedReads<AgentConfig>()
  const providerReads = new SharedReads<Model>()
  let changes = 0
  store.onChange(() => {
    changes++
    providers.clear()
    providerReads.forget()
  })

  return {
    /** Rejects with StoreUnavailable. */
    async open(agentId: string, version: number): Promise<OpenVersion> {
      const config = await openConfig(agentId, version)
      const name = splitModel(config.model)
      if (!name) return { kind: 'refused', cause: `agent ${agentId} names no model` }
      try {
        return { kind: 'open', config, model: await openProvider(name.provider), modelId: name.modelId }
      } catch (error) {
        if (error instanceof ModelError || error instanceof UnsealError) return { kind: 'refused', cause: error.message }
        throw error
      }
    },
  }

  async function openConfig(agentId: string, version: number): Promise<AgentConfig> {
    const key = `${agentId} ${version}`
    return configs.get(key) ?? configReads.read(key, () => readConfig(key, agentId, version))
  }

  async function readConfig(key: string, agentId: string, version: number): Promise<AgentConfig> {
    const row = await store.read('agentVersion', agentId, version)
    if (!row) throw new Error(`agent ${agentId} has no version ${version}`)
    const config = parseAgentConfig(row)
    const oldest = configs.size >= mostVersions ? configs.keys().next().value : undefined
    if (oldest !== undefined) configs.delete(oldest)
    configs.set(key, config)
    return config
  }

  async function openProvider(name: string): Promise<Model> {
    const known = providers.get(name)
    if (known && performance.now() - known.readAt < providerAgeMs) return known.model
    if (name === 'demo') return models.open({ kind: 'demo', baseUrl: null, apiKey: '' })
    return providerReads.read(name, () => readProvider(name))
  }

  async function readProvider(name: string): Promise<Model> {
    const readAt = performance.now()
    const asked = changes
    const row = await store.read('findProvider', name)
    if (!row) throw new ModelError('refused', `there is no provider named ${name}`)
    const model = models.open({ kind: row.kind, baseUrl: row.baseUrl, apiKey: sealer.open(row.sealedApiKey, row.id) })
    // What was read before a change serves those who asked before it, and is not kept.
    if (asked === changes) providers.set(name, { model, readAt })
    return model
  }
}
