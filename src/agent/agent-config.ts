/**
 * Defines the configuration of one agent version, and parses and formats the part of it that the store keeps as JSON. The caller passes in
 * the row; this module does not read the store. The token budgets are columns and not JSON because admission computes the hold from them in
 * SQL (`billing.hold`).
 */
import { readSettings, writeSettings } from '../resources/agent.ts'
import type { AgentSettings } from '../resources/agent.ts'
import type { AgentVersion } from '../store/queries/agent-versions.ts'
import { isObject } from './models/transport/fields.ts'
import type { Fields } from './models/transport/fields.ts'
import type { ToolConfig } from './tools/tool-config.ts'

/** `tools`: in the order in which they are listed to the model. `priceSource`: null for a version that was saved before it was recorded. */
export type AgentConfig = Omit<AgentSettings, 'name'> & { tools: ToolConfig[]; priceSource: PriceSource | null }

/**
 * `list`: the name and version of the price list, or null if the price is not from a list. `date`: when the price was set, `YYYY-MM-DD`, or
 * null for a built-in model.
 */
export type PriceSource = { from: 'operator' | 'price_list' | 'built_in'; list: string | null; date: string | null }

/**
 * Builds the configuration from a stored version, whose JSON part `formatStoredConfig` wrote. Versions that were written before tools existed
 * lack them. Throws an Error if the JSON does not have the expected shape, and a SyntaxError if it is not valid JSON.
 */
export function parseAgentConfig(version: AgentVersion): AgentConfig {
  const stored: unknown = JSON.parse(version.config)
  const settings = isObject(stored) && hasTools(stored) ? readSettings(version, stored) : undefined
  if (!settings) throw new Error(`the stored configuration of ${version.agentId} version ${version.version} is damaged`)
  const { tools = [], priceSource = null } = stored as Partial<AgentConfig>
  const { name: _, ...others } = settings
  return { ...others, tools, priceSource }
}

/** The part of a version that no SQL statement reads, as JSON. */
export const formatStoredConfig = ({ tools, priceSource, ...settings }: AgentConfig): string =>
  JSON.stringify({ ...writeSettings({ name: '', ...settings }).rest, tools, priceSource })

/**
 * Splits `<provider name>/<model id>` at the first slash, because model ids may contain slashes. Returns undefined if either part is empty.
 */
export function splitModel(model: string): { provider: string; modelId: string } | undefined {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) return undefined
  return { provider: model.slice(0, slash), modelId: model.slice(slash + 1) }
}

type Fits = (value: unknown) => boolean

// Hand-written checks: loading a schema library would add more to the startup time than all of src/agent does.
const isText: Fits = (value) => typeof value === 'string'
const isNumber: Fits = (value) => typeof value === 'number'
const isTexts: Fits = (value) => isObject(value) && Object.values(value).every(isText)
const isListOf = (fits: Fits, value: unknown): boolean => Array.isArray(value) && value.every(fits)
const isNullOr = (fits: Fits, value: unknown): boolean => value === null || fits(value)
const isAbsentOr = (fits: Fits, value: unknown): boolean => value === undefined || fits(value)

const hasTools = ({ tools, priceSource }: Fields): boolean =>
  isAbsentOr((list) => isListOf(isTool, list), tools) && isAbsentOr((source) => isNullOr(isPriceSource, source), priceSource)

const isPriceSource: Fits = (source) =>
  isObject(source) &&
  (source['from'] === 'operator' || source['from'] === 'price_list' || source['from'] === 'built_in') &&
  isNullOr(isText, source['list']) &&
  isNullOr(isText, source['date'])

function isTool(tool: unknown): boolean {
  if (!isObject(tool) || !isAbsentOr(Number.isSafeInteger, tool['price'])) return false
  switch (tool['type']) {
    case 'http':
      return isHttpTool(tool)
    case 'mcp':
      return (
        isText(tool['name']) &&
        isText(tool['url']) &&
        isTexts(tool['headers']) &&
        isNullOr((names) => isListOf(isText, names), tool['allowed']) &&
        isListOf(isDescribed, tool['pinned']) &&
        isAbsentOr((list) => isListOf(isUnusable, list), tool['unusable'])
      )
    case 'builtin':
      return tool['name'] === 'now' || tool['name'] === 'search_knowledge'
    default:
      return false
  }
}

const httpMethods: unknown[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

const isHttpTool = (tool: Fields): boolean =>
  isDescribed(tool) &&
  httpMethods.includes(tool['method']) &&
  isText(tool['url']) &&
  isTexts(tool['headers']) &&
  isTexts(tool['secrets']) &&
  isNumber(tool['timeoutSeconds'])

const isUnusable: Fits = (tool) => isObject(tool) && isText(tool['name']) && isText(tool['reason'])

function isDescribed(tool: unknown): boolean {
  if (!isObject(tool)) return false
  const { name, description, parameters, sideEffects } = tool
  return isText(name) && isText(description) && isObject(parameters) && typeof sideEffects === 'boolean'
}
