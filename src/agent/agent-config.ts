/**
 * What one version of an agent says, as the loop and the admin room read it, and the one parser of its stored JSON.
 * Never reads the store: it is handed the row. Rulings: `billing.hold` (the token budgets are columns, since admission holds them in SQL).
 */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { AgentVersion } from '../store/cold/agents.ts'
import type { ToolConfig } from './tools.ts'

export type AgentConfig = {
  systemPrompt: string
  /** `<provider name>/<model id>`; see `splitModel`. */
  model: string
  /** `null`: the provider's own default. */
  temperature: number | null
  /** Calls of the model within one turn. */
  maxSteps: number
  /** Calls of tools within one turn. */
  maxToolCalls: number
  maxOutputTokens: number
  historyMaxTokens: number
  /** `embeddingModel` as `<provider name>/<model id>`; null: full text alone. `language`: of its texts, for the endings of words; null: English. */
  knowledge: { maxTokens: number; topK: number; embeddingModel: string | null; language: string | null }
  /** In the order in which the model is told of them. */
  tools: ToolConfig[]
  /** Code points. */
  maxMessageLength: number
}

// Faults, row 42: twice as many calls as steps; a turn that needs more is going round in circles.
export const defaultMaxToolCalls = 16

/** The part of a version that no statement needs; stored as JSON. What stands behind a question mark was not written before there were tools. */
type StoredConfig = {
  systemPrompt: string
  temperature: number | null
  maxSteps: number
  topK: number
  maxToolCalls?: number
  embeddingModel?: string | null
  language?: string | null
  tools?: ToolConfig[]
}

/** Reads a version as it was written by `formatStoredConfig`; throws where the stored JSON is damaged. */
export function parseAgentConfig(version: AgentVersion): AgentConfig {
  const stored: unknown = JSON.parse(version.config)
  if (!isStoredConfig(stored)) throw new Error(`the stored configuration of ${version.agentId} version ${version.version} is damaged`)
  return {
    systemPrompt: stored.systemPrompt,
    model: version.model,
    temperature: stored.temperature,
    maxSteps: stored.maxSteps,
    maxToolCalls: stored.maxToolCalls ?? defaultMaxToolCalls,
    maxOutputTokens: version.maxOutputTokens,
    historyMaxTokens: version.historyMaxTokens,
    knowledge: {
      maxTokens: version.knowledgeMaxTokens,
      topK: stored.topK,
      embeddingModel: stored.embeddingModel ?? null,
      language: stored.language ?? null,
    },
    tools: stored.tools ?? [],
    maxMessageLength: version.maxMessageLength,
  }
}

export function formatStoredConfig(config: AgentConfig): string {
  const { systemPrompt, temperature, maxSteps, maxToolCalls, tools } = config
  const { topK, embeddingModel, language } = config.knowledge
  const stored: StoredConfig = { systemPrompt, temperature, maxSteps, maxToolCalls, topK, embeddingModel, language, tools }
  return JSON.stringify(stored)
}

/** Splits `<provider name>/<model id>` at the first slash, since model ids hold slashes of their own; undefined where either part is empty. */
export function splitModel(model: string): { provider: string; modelId: string } | undefined {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) return undefined
  return { provider: model.slice(0, slash), modelId: model.slice(slash + 1) }
}

const Text = Type.String()
const TextOrNull = Type.Union([Text, Type.Null()])
const Sealed = Type.Record(Text, Text)
const Parameters = Type.Record(Text, Type.Unknown())
const described = { name: Text, description: Text, parameters: Parameters, sideEffects: Type.Boolean() }

const Tool = Type.Union([
  Type.Object({
    ...described,
    type: Type.Literal('http'),
    method: Type.Union([Type.Literal('GET'), Type.Literal('POST'), Type.Literal('PUT'), Type.Literal('PATCH'), Type.Literal('DELETE')]),
    url: Text,
    headers: Sealed,
    secrets: Sealed,
    timeoutSeconds: Type.Number(),
  }),
  Type.Object({
    type: Type.Literal('mcp'),
    name: Text,
    url: Text,
    headers: Sealed,
    allowed: Type.Union([Type.Array(Text), Type.Null()]),
    pinned: Type.Array(Type.Object(described)),
  }),
  Type.Object({ type: Type.Literal('builtin'), name: Type.Union([Type.Literal('now'), Type.Literal('search_knowledge')]) }),
])

const stored = Compile(
  Type.Object({
    systemPrompt: Text,
    temperature: Type.Union([Type.Number(), Type.Null()]),
    maxSteps: Type.Integer(),
    topK: Type.Integer(),
    maxToolCalls: Type.Optional(Type.Integer()),
    embeddingModel: Type.Optional(TextOrNull),
    language: Type.Optional(TextOrNull),
    tools: Type.Optional(Type.Array(Tool)),
  }),
)

const isStoredConfig = (value: unknown): value is StoredConfig => stored.Check(value)
