/**
 * Loads the configuration and the model for the agent version that a turn runs on. A version never changes, so its configuration is cached
 * in memory; its provider can change, so `createProviders` decides when to read it again.
 */
import type { CauseKind } from '../cause-kinds.ts'
import { ModelError } from './models/model.ts'
import type { Model } from './models/model.ts'
import type { Models } from './models/models.ts'
import { parseAgentConfig, splitModel } from './agent-config.ts'
import type { AgentConfig } from './agent-config.ts'
import { UnsealError } from '../config/secrets.ts'
import type { Sealer } from '../config/secrets.ts'
import type { Store } from '../store/store.ts'
import { createProviders } from './models/providers.ts'
import { SharedReads } from './shared-reads.ts'

// One version takes a few KiB, so the cache of a process with many agents stays at a few MiB.
const maxVersions = 1000

export type OpenVersion =
  | { kind: 'open'; config: AgentConfig; model: Model; modelId: string }
  /** The provider does not exist or its key cannot be decrypted; only the operator can fix that. */
  | { kind: 'refused'; cause: string; causeKind: CauseKind }

export function createVersions({ store, sealer, models }: { store: Store; sealer: Sealer; models: Models }) {
  const configs = new Map<string, AgentConfig>()
  const configReads = new SharedReads<AgentConfig>()
  const providers = createProviders<Model>({ store, sealer, open: (provider) => models.open(provider) })

  return {
    /**
     * Opens one version of an agent, with `changes` to its configuration for this call only. Throws StoreUnavailable, or an Error if the version does not exist or its configuration is damaged.
     */
    async open(agentId: string, version: number, changes?: Partial<AgentConfig>): Promise<OpenVersion> {
      const stored = await openConfig(agentId, version)
      const config = changes ? { ...stored, ...changes } : stored
      const name = splitModel(config.model)
      if (!name) return { kind: 'refused', cause: `agent ${agentId} names no model`, causeKind: 'provider_unusable' }
      try {
        return { kind: 'open', config, model: await providers.open(name.provider), modelId: name.modelId }
      } catch (error) {
        if (error instanceof ModelError) return { kind: 'refused', cause: error.message, causeKind: error.causeKind }
        if (error instanceof UnsealError) return { kind: 'refused', cause: error.message, causeKind: 'decrypt_failed' }
        throw error
      }
    },
  }

  async function openConfig(agentId: string, version: number): Promise<AgentConfig> {
    const key = `${agentId} ${version}`
    return configs.get(key) ?? configReads.read(key, () => readConfig(key, agentId, version))
  }

  async function readConfig(key: string, agentId: string, version: number): Promise<AgentConfig> {
    const row = await store.read.agentVersion(agentId, version)
    if (!row) throw new Error(`agent ${agentId} has no version ${version}`)
    const config = parseAgentConfig(row)
    const oldest = configs.size >= maxVersions ? configs.keys().next().value : undefined
    if (oldest !== undefined) configs.delete(oldest)
    configs.set(key, config)
    return config
  }
}
