/**
 * What one version of an agent says, as the loop and the admin room read it, and the one parser of its stored JSON.
 * Never reads the store: it is handed the row. Rulings: `billing.hold` (the token budgets are columns, since admission holds them in SQL).
 */
import type { AgentVersion } from '../store/cold/agents.ts'

export type AgentConfig = {
  systemPrompt: string
  /** `<provider name>/<model id>`; see `splitModel`. */
  model: string
  /** `null`: the provider's own default. */
  temperature: number | null
  /** Calls of the model within one turn. */
  maxSteps: number
  maxOutputTokens: number
  historyMaxTokens: number
  knowledge: { maxTokens: number; topK: number }
  /** Code points. */
  maxMessageLength: number
}

/** The part of a version that no statement needs; stored as JSON. */
type StoredConfig = { systemPrompt: string; temperature: number | null; maxSteps: number; topK: number }

/** Reads a version as it was written by `formatStoredConfig`; throws where the stored JSON is damaged. */
export function parseAgentConfig(version: AgentVersion): AgentConfig {
  const stored: unknown = JSON.parse(version.config)
  if (!isStoredConfig(stored)) throw new Error(`the stored configuration of ${version.agentId} version ${version.version} is damaged`)
  return {
    systemPrompt: stored.systemPrompt,
    model: version.model,
    temperature: stored.temperature,
    maxSteps: stored.maxSteps,
    maxOutputTokens: version.maxOutputTokens,
    historyMaxTokens: version.historyMaxTokens,
    knowledge: { maxTokens: version.knowledgeMaxTokens, topK: stored.topK },
    maxMessageLength: version.maxMessageLength,
  }
}

export function formatStoredConfig(config: AgentConfig): string {
  const { systemPrompt, temperature, maxSteps, knowledge } = config
  return JSON.stringify({ systemPrompt, temperature, maxSteps, topK: knowledge.topK } satisfies StoredConfig)
}

/** Splits `<provider name>/<model id>` at the first slash, since model ids hold slashes of their own; undefined where either part is empty. */
export function splitModel(model: string): { provider: string; modelId: string } | undefined {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) return undefined
  return { provider: model.slice(0, slash), modelId: model.slice(slash + 1) }
}

function isStoredConfig(value: unknown): value is StoredConfig {
  return (
    typeof value === 'object' &&
    value !== null &&
    'systemPrompt' in value &&
    typeof value.systemPrompt === 'string' &&
    'temperature' in value &&
    (value.temperature === null || typeof value.temperature === 'number') &&
    'maxSteps' in value &&
    Number.isInteger(value.maxSteps) &&
    'topK' in value &&
    Number.isInteger(value.topK)
  )
}
