/** The fields of an agent: defaults, the price that a model must have, and how fields become the stored content of a version. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { formatStoredConfig, parseAgentConfig, splitModel } from '../../agent/agent-config.ts'
import type { AgentConfig } from '../../agent/agent-config.ts'
import { tokenBound } from '../../agent/tokens.ts'
import { definitionsOf, toolTokens } from '../../agent/tools/tools.ts'
import type { ToolConfig } from '../../agent/tools/tools.ts'
import { invalid } from '../../errors.ts'
import { boundCost } from '../../ledger/ledger.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
import { agentFields, writeSettings } from '../../resources/agent.ts'
import type { AgentSettings, AgentSettingsChange } from '../../resources/agent.ts'
import { changedBy, initialOf } from '../../resources/field.ts'
import { priceList } from '../providers/known-price.ts'
import type { KnownModel } from '../providers/known-price.ts'
import type { AgentContent, AgentVersion } from '../../store/queries/agent-versions.ts'

export type AgentFields = AgentConfig & { name: string; price: Price }

/** Fields as sent: an absent field keeps its initial or its current value. Tools are handled in agent-tools.ts and passed in as stored. */
export type GivenFields = AgentSettingsChange & { price?: Price | undefined; tools?: ToolConfig[] | undefined }

/** The provider of the built-in models. It has no row, so no provider can be created with this name. */
export const builtInProvider = 'demo'

// The demo model costs nothing to run. It has the price of a small hosted model, so that the first reply already shows how billing works.
const demoPrice: Price = {
  promptPerMillion: 15_000_000n,
  completionPerMillion: 60_000_000n,
  cachedPromptPerMillion: null,
  cacheWritePerMillion: null,
}

// Enough for a message of two pages if the model's window is small.
const messageTokens = 2000

/**
 * The fields of a new agent, with the price that was sent or else the known one, and a history that fits the model's window if that is
 * known. Throws ApiError `validation_error` for an invalid model name or a model without a price.
 */
export function newFields(given: GivenFields & { name: string; systemPrompt: string; model: string }, known: KnownModel): AgentFields {
  const settings = changedBy(agentFields, initialOf(agentFields) as AgentSettings, given)
  const fields = { ...settings, tools: given.tools ?? [], ...priceFor(given.model, given.price, known) }
  return given.history?.maxTokens === undefined
    ? { ...fields, history: { maxTokens: fittingHistory(fields, known.contextWindow) } }
    : fields
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
  return { ...present, ...priced, ...changedBy(agentFields, present, given), tools: given.tools ?? present.tools }
}

/** What the window leaves for the history. Counted with the upper bounds used for holds, which are twice the size of most texts. */
function fittingHistory(fields: AgentFields, contextWindow = Infinity): number {
  const rest = fixedTokens(fields) + fields.knowledge.maxTokens + fields.maxOutputTokens + messageTokens
  return Math.max(0, Math.min(fields.history.maxTokens, contextWindow - rest))
}

export function fieldsOf(version: AgentVersion): AgentFields {
  return { ...parseAgentConfig(version), name: version.name, price: version.price }
}

export const contentOf = (fields: AgentFields): AgentContent => ({
  ...writeSettings(fields).columns,
  config: formatStoredConfig(fields),
  fixedTokens: fixedTokens(fields),
  price: fields.price,
})

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
  if (provider === undefined) throw invalid('model', 'model must be "<provider name>/<model id>".')
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
  if (!usual) throw invalid('price', `price is required because the price of the model ${model} is not known.`)
  return usual
}
