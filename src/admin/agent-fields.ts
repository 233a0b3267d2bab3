/**
 * What an operator writes about an agent: defaults, the price a model must have, and how fields become the stored content of a version.
 * Pure. Surfaces: /agents; rulings, Money.
 */
import { formatStoredConfig, parseAgentConfig, splitModel } from '../agent/agent-config.ts'
import type { AgentConfig } from '../agent/agent-config.ts'
import { tokenBound } from '../agent/tokens.ts'
import { ApiError } from '../errors.ts'
import type { Price } from '../ledger/ledger.ts'
import type { AgentContent, AgentVersion } from '../store/cold/agents.ts'

export type AgentFields = AgentConfig & { name: string; price: Price }

/** Fields as they are given: what is absent keeps its default, or its present value. */
export type GivenFields = {
  name?: string | undefined
  systemPrompt?: string | undefined
  model?: string | undefined
  price?: Price | undefined
  temperature?: number | null | undefined
  maxSteps?: number | undefined
  maxOutputTokens?: number | undefined
  maxMessageLength?: number | undefined
  historyMaxTokens?: number | undefined
  knowledge?: { maxTokens?: number | undefined; topK?: number | undefined } | undefined
}

/** The provider of the models that are part of this program; no row stands behind it, so no provider can be made under this name. */
export const builtInProvider = 'demo'

// The demo model costs nothing to run; it bears the price of a small hosted model, so that the first reply already shows how billing works.
const demoPrice: Price = { promptPerMillion: 15_000_000n, completionPerMillion: 60_000_000n }

const defaults = {
  temperature: null,
  // A turn that has called tools seven times without an answer is going round in circles.
  maxSteps: 8,
  // Rulings, `billing.hold`.
  maxOutputTokens: 2048,
  // Rulings, text.
  maxMessageLength: 32_000,
  // Surfaces: some thirty exchanges of ordinary length, at a price that stays bounded.
  historyMaxTokens: 8000,
  knowledge: { maxTokens: 1500, topK: 6 },
} as const

/**
 * A new agent's fields, at the price that is given or else at the known one. Throws ApiError `validation_error` for a model that is none, or has
 * neither.
 */
export function newFields(
  given: GivenFields & { name: string; systemPrompt: string; model: string },
  known: Price | undefined,
): AgentFields {
  const { name, systemPrompt, model } = given
  return merge({ ...defaults, name, systemPrompt, model, price: priceFor(model, given.price ?? known) }, given)
}

/**
 * A version's fields with changes; `known` is the known price of the model that is given. Another model needs a price of its own: the former one's
 * would bill it wrongly. Throws as `newFields`.
 */
export function changedFields(present: AgentFields, given: GivenFields, known: Price | undefined): AgentFields {
  const modelChanges = given.model !== undefined && given.model !== present.model
  return merge({ ...present, price: modelChanges ? priceFor(given.model!, given.price ?? known) : present.price }, given)
}

export function fieldsOf(version: AgentVersion): AgentFields {
  return { ...parseAgentConfig(version), name: version.name, price: version.price }
}

export function contentOf(fields: AgentFields): AgentContent {
  const { name, model, historyMaxTokens, knowledge, maxOutputTokens, maxMessageLength, price } = fields
  return {
    name,
    model,
    config: formatStoredConfig(fields),
    fixedTokens: tokenBound(fields.systemPrompt),
    historyMaxTokens,
    knowledgeMaxTokens: knowledge.maxTokens,
    maxOutputTokens,
    maxMessageLength,
    price,
  }
}

/** The name of the provider that must have a row; null for the built-in one. Throws ApiError `validation_error` where the model names none. */
export function providerOf(model: string): string | null {
  const provider = splitModel(model)?.provider
  if (provider === undefined) throw new ApiError('validation_error', 'model must be "<provider name>/<model id>".')
  return provider === builtInProvider ? null : provider
}

/** An agent whose model has no known price cannot be created without one (rulings, Money). */
function priceFor(model: string, wanted: Price | undefined): Price {
  const price = wanted ?? (providerOf(model) === null ? demoPrice : undefined)
  if (!price) throw new ApiError('validation_error', `price is required: none is known for the model ${model}.`)
  return price
}

function merge(base: AgentFields, given: GivenFields): AgentFields {
  const { knowledge } = given
  return {
    name: given.name ?? base.name,
    systemPrompt: given.systemPrompt ?? base.systemPrompt,
    model: given.model ?? base.model,
    price: given.price ?? base.price,
    temperature: given.temperature === undefined ? base.temperature : given.temperature,
    maxSteps: given.maxSteps ?? base.maxSteps,
    maxOutputTokens: given.maxOutputTokens ?? base.maxOutputTokens,
    maxMessageLength: given.maxMessageLength ?? base.maxMessageLength,
    historyMaxTokens: given.historyMaxTokens ?? base.historyMaxTokens,
    knowledge: { maxTokens: knowledge?.maxTokens ?? base.knowledge.maxTokens, topK: knowledge?.topK ?? base.knowledge.topK },
  }
}
