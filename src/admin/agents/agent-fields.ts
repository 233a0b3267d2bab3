/** The fields of an agent: defaults, the price that a model must have, and how fields become the stored content of a version. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { defaultMaxToolCalls, formatStoredConfig, parseAgentConfig, splitModel } from '../../agent/agent-config.ts'
import type { AgentConfig } from '../../agent/agent-config.ts'
import { tokenBound } from '../../agent/tokens.ts'
import { definitionsOf, toolTokens } from '../../agent/tools/tools.ts'
import type { ToolConfig } from '../../agent/tools/tools.ts'
import { ApiError } from '../../errors.ts'
import { boundCost } from '../../ledger/ledger.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
import { priceList } from '../providers/known-price.ts'
import type { KnownModel } from '../providers/known-price.ts'
import type { AgentContent, AgentVersion } from '../../store/queries/agents.ts'
import { defaultMaxMessageLength } from '../../store/turn-records.ts'

export type AgentFields = AgentConfig & { name: string; price: Price }

/** Fields as sent: an absent field keeps its default or its current value. Tools are handled in agent-tools.ts and passed in as stored. */
export type GivenFields = {
  name?: string | undefined
  systemPrompt?: string | undefined
  model?: string | undefined
  price?: Price | undefined
  temperature?: number | null | undefined
  maxSteps?: number | undefined
  maxToolCalls?: number | undefined
  maxOutputTokens?: number | undefined
  maxMessageLength?: number | undefined
  historyMaxTokens?: number | undefined
  knowledge?: Partial<{ [Field in keyof AgentConfig['knowledge']]: AgentConfig['knowledge'][Field] | undefined }> | undefined
  tools?: ToolConfig[] | undefined
}

/** The provider of the built-in models. It has no row, so no provider can be created with this name. */
export const builtInProvider = 'demo'

// The demo model costs nothing to run. It has the price of a small hosted model, so that the first reply already shows how billing works.
const demoPrice: Price = {
  promptPerMillion: 15_000_000n,
  completionPerMillion: 60_000_000n,
  cachedPromptPerMillion: null,
  cacheWritePerMillion: null,
}

const defaults = {
  temperature: null,
  // A turn that has called tools seven times without a reply is going round in circles.
  maxSteps: 8,
  maxToolCalls: defaultMaxToolCalls,
  // `billing.hold`
  maxOutputTokens: 2048,
  // `order.validation`
  maxMessageLength: defaultMaxMessageLength,
  knowledge: { maxTokens: 1500, topK: 6, embeddingModel: null, language: null },
  tools: [],
} satisfies Partial<AgentConfig>

// About thirty exchanges of ordinary length, with a limited price.
const maxHistoryTokens = 8000
// Enough for a message of two pages if the model's window is small.
const messageTokens = 2000

/**
 * The fields of a new agent, with the price that was sent or else the known one, and a history that fits the model's window if that is
 * known. Throws ApiError `validation_error` for an invalid model name or a model without a price.
 */
export function newFields(given: GivenFields & { name: string; systemPrompt: string; model: string }, known: KnownModel): AgentFields {
  const { name, systemPrompt, model } = given
  const priced = priceFor(model, given.price, known)
  const fields = merge({ ...defaults, historyMaxTokens: maxHistoryTokens, name, systemPrompt, model, ...priced }, given)
  return given.historyMaxTokens === undefined ? { ...fields, historyMaxTokens: fittingHistory(fields, known.contextWindow) } : fields
}

/**
 * The fields of a version with changes. `known` belongs to the new model. Another model needs its own price, because the previous one would
 * bill it wrongly. Throws as `newFields`.
 */
export function changedFields(present: AgentFields, given: GivenFields, known: KnownModel): AgentFields {
  const modelChanges = given.model !== undefined && given.model !== present.model
  // The same price again keeps its source and date.
  const priceChanges = given.price !== undefined && !isDeepStrictEqual(given.price, present.price)
  const priced = modelChanges || priceChanges ? priceFor(given.model ?? present.model, given.price, known) : {}
  return merge({ ...present, ...priced }, given)
}

/** What the window leaves for the history. Counted with the upper bounds used for holds, which are twice the size of most texts. */
function fittingHistory(fields: AgentFields, contextWindow = Infinity): number {
  const rest = fixedTokens(fields) + fields.knowledge.maxTokens + fields.maxOutputTokens + messageTokens
  return Math.max(0, Math.min(maxHistoryTokens, contextWindow - rest))
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
    fixedTokens: fixedTokens(fields),
    historyMaxTokens,
    knowledgeMaxTokens: knowledge.maxTokens,
    maxOutputTokens,
    maxMessageLength,
    price,
  }
}

/** `billing.hold`: what the first turn of a conversation holds at least, with the shortest message. */
export const smallestHold = (fields: AgentFields): Amount =>
  boundCost(
    { promptTokens: fixedTokens(fields) + fields.knowledge.maxTokens + tokenBound('a'), completionTokens: fields.maxOutputTokens },
    fields.price,
  )

/** `billing.hold`: the tokens that every prompt contains, whatever the message. */
const fixedTokens = ({ systemPrompt, tools }: AgentFields): number => tokenBound(systemPrompt) + toolTokens(definitionsOf(tools))

/**
 * The name of the provider that must have a row, or null for the built-in one. Throws ApiError `validation_error` if the model names no
 * provider.
 */
export function providerOf(model: string): string | null {
  const provider = splitModel(model)?.provider
  if (provider === undefined) throw new ApiError('validation_error', 'model must be "<provider name>/<model id>".')
  return provider === builtInProvider ? null : provider
}

/** The providers that must exist for this content. Throws as `providerOf`. */
export function providersOf(content: AgentContent): { provider: string | null; embeddingProvider: string | null } {
  const { embeddingModel = null } = JSON.parse(content.config) as { embeddingModel?: string | null }
  return {
    provider: providerOf(content.model),
    embeddingProvider: embeddingModel === null ? null : (splitModel(embeddingModel)?.provider ?? null),
  }
}

type Priced = Pick<AgentFields, 'price' | 'priceSource'>

/** The default price, or undefined if the price must be sent. Throws as `providerOf`. */
export function usualPrice(model: string, { price, date }: KnownModel): Priced | undefined {
  if (providerOf(model) === null) return { price: demoPrice, priceSource: { from: 'built_in', list: null, date: null } }
  return price && { price, priceSource: { from: 'price_list', list: priceList, date } }
}

/** An agent whose model has no known price cannot be created without a price. */
function priceFor(model: string, given: Price | undefined, known: KnownModel): Priced {
  const usual = usualPrice(model, known)
  // A form sends the price that it proposed.
  if (given && !isDeepStrictEqual(given, usual?.price))
    return { price: given, priceSource: { from: 'operator', list: null, date: known.date } }
  if (!usual) throw new ApiError('validation_error', `price is required because the price of the model ${model} is not known.`)
  return usual
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
    maxToolCalls: given.maxToolCalls ?? base.maxToolCalls,
    maxOutputTokens: given.maxOutputTokens ?? base.maxOutputTokens,
    maxMessageLength: given.maxMessageLength ?? base.maxMessageLength,
    historyMaxTokens: given.historyMaxTokens ?? base.historyMaxTokens,
    knowledge: {
      maxTokens: knowledge?.maxTokens ?? base.knowledge.maxTokens,
      topK: knowledge?.topK ?? base.knowledge.topK,
      embeddingModel: knowledge?.embeddingModel === undefined ? base.knowledge.embeddingModel : knowledge.embeddingModel,
      language: knowledge?.language === undefined ? base.knowledge.language : knowledge.language,
    },
    tools: given.tools ?? base.tools,
    priceSource: base.priceSource,
  }
}
