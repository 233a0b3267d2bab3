/** Tools as they are shown and sent: values of headers and secrets are sent and never returned; null keeps a stored one. Pure. */
import type { Tool } from '../../../api/types.ts'
import type { GivenTexts } from './text-rows.ts'
import { shortAmount } from '../../../show/short-amount.ts'

export type HttpTool = Extract<Tool, { type: 'http' }>
export type McpServer = Extract<Tool, { type: 'mcp' }>
export type BuiltInTool = Extract<Tool, { type: 'builtin' }>

export type GivenTool =
  | (Omit<HttpTool, 'headers' | 'secrets'> & { headers: GivenTexts; secrets: GivenTexts })
  | (Omit<McpServer, 'headers' | 'pinned' | 'unusable'> & { headers: GivenTexts })
  | BuiltInTool

/** The price of a call as it is typed; empty for none. */
export const priceValue = (tool: Tool | null): string => (tool && /[1-9]/.test(tool.price_usd) ? shortAmount(tool.price_usd) : '')
export const priceGiven = (text: string): string => (text.trim() === '' ? '0' : text.trim())
export const priceProblem = (text: string): string | undefined =>
  /^(\d{1,4}(\.\d{1,8})?)?$/.test(text.trim())
    ? undefined
    : 'Enter dollars with up to 8 decimal places, such as 0.01, or leave the field empty.'

/** A stored tool as it is sent back: its values are kept. */
export function keep(tool: Tool): GivenTool {
  if (tool.type !== 'mcp') return tool
  const { pinned: _pinned, unusable: _unusable, ...rest } = tool
  return rest
}

/** As whoever may not set prices sends a tool. Such a principal can only replace tools without a price. */
export const withoutPrice = ({ price_usd: _, ...tool }: GivenTool): object => tool

export const isSameTool = (one: Tool, other: Tool): boolean => one.type === other.type && one.name === other.name

/** Returns undefined while it is not a valid URL. The content of braces does not matter. */
const originOf = (url: string): string | undefined => URL.parse(url.replaceAll(/[{}]/g, ''))?.origin

/** Stored values belong to a tool with this name at this server. For another one they must be sent again. */
export const losesValues = (before: HttpTool | McpServer | null, now: { name: string; url: string }): boolean =>
  before !== null && (before.name !== now.name.trim() || originOf(before.url) !== originOf(now.url.trim()))

const maxName = 64

/**
 * The name by which the model sees a tool of an MCP server, as the server builds it (src/agent/tools/tool-config.ts). Undefined if the name
 * needs a digest, which browsers can only compute over https and on localhost.
 */
export async function offeredName(server: string, tool: string): Promise<string | undefined> {
  const name = `${server}__${tool}`
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name
  if (!window.isSecureContext) return undefined
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name)))
  const mark = Array.from(digest.slice(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxName - mark.length - 1)}_${mark}`
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An initial value with only what the schema requires. */
export function exampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return null
  const { default: usual, enum: among, const: only, type, properties, required, minimum } = schema
  if (only !== undefined) return only
  if (usual !== undefined) return usual
  if (Array.isArray(among) && among.length > 0) return among[0]
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return ''
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? minimum : 0
    case 'boolean':
      return false
    case 'array':
      return []
    case 'object': {
      const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
      const known = isObject(properties) ? properties : {}
      return Object.fromEntries(names.map((name) => [name, exampleOf(known[name])]))
    }
    default:
      return null
  }
}

/** Parses a text as a JSON object, or returns what is wrong with it. */
export function readObject(text: string): { value: Record<string, unknown> } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? { value } : { problem: 'Enter a JSON object: { … }.' }
  } catch (error) {
    return { problem: `Invalid JSON: ${error instanceof Error ? error.message : 'it cannot be parsed'}.` }
  }
}
