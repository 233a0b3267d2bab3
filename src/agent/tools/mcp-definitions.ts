/**
 * What an MCP server says its tools are, as the operator approves it and as it is compared ever after: name, description, schema, and whether it
 * only reads. Refuses what no model or store could hold; never mends or cuts a definition, since then another one would be approved than is used.
 */
import { createHash } from 'node:crypto'
import type { ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { cleanText } from '../clean-text.ts'
import { isObject } from '../models/transport/fields.ts'
import { oneLine } from './mcp-failure.ts'
import { ToolServerError } from './tool-config.ts'
import type { PinnedTool } from './tool-config.ts'

type Offered = ListToolsResult['tools'][number]

export type Differences = { added: PinnedTool[]; removed: PinnedTool[]; changed: { before: PinnedTool; now: PinnedTool }[] }

// As many as the large providers take in one request.
const maxTools = 128
// Some 64,000 tokens: more than any prompt should spend on what could be done.
const maxDefinitionBytes = 256 * 1024
// Pages of four tools are the smallest that make sense.
const maxPages = 32
// The longest that are published have 3 KiB.
const maxDescriptionBytes = 8 * 1024
// Real ones are nested five deep; what is compared by recursion must have an end.
const deepestSchema = 64
/** The protocol's own advice on names; they go into a header as they are. */
const toolName = /^[A-Za-z0-9_./-]{1,128}$/

/** Every page, within the bounds. Throws ToolServerError, or what the client throws. */
export async function listTools(client: MCPClient, signal: AbortSignal): Promise<Offered[]> {
  const tools: Offered[] = []
  let bytes = 0
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await client.listTools({ ...(cursor === undefined ? {} : { params: { cursor } }), options: { signal } })
    tools.push(...answer.tools)
    bytes += Buffer.byteLength(JSON.stringify(answer.tools))
    if (tools.length > maxTools) throw new ToolServerError(`the server offers more than ${maxTools} tools`)
    if (bytes > maxDefinitionBytes) throw new ToolServerError('the server describes its tools in more than 256 KiB')
    cursor = answer.nextCursor
    if (cursor === undefined || cursor === '') return tools
  }
  throw new ToolServerError(`the server's list of tools does not end within ${maxPages} pages`)
}

/** Of what is offered the allowed, or all; in the server's order. Throws ToolServerError, which names the tool. */
export function pinnedTools(offered: Offered[], allowed: string[] | null): PinnedTool[] {
  const missing = (allowed ?? []).find((name) => !offered.some((tool) => tool.name === name))
  if (missing !== undefined) throw new ToolServerError(`the server offers no tool ${JSON.stringify(missing)}`)
  const kept = offered.filter((tool) => allowed === null || allowed.includes(tool.name))
  const twice = kept.find((tool, index) => kept.findIndex((other) => other.name === tool.name) !== index)
  if (twice) throw new ToolServerError(`the server offers two tools called ${shown(twice)}`)
  return kept.map(pinnedTool)
}

function pinnedTool(tool: Offered): PinnedTool {
  const description = tool.description ?? ''
  if (!toolName.test(tool.name))
    throw new ToolServerError(`the tool ${shown(tool)} has a name that is not 1 to 128 letters, digits and _ - . /`)
  if (cleanText(description) !== description)
    throw new ToolServerError(`the description of the tool ${shown(tool)} is not well-formed text`)
  if (Buffer.byteLength(description) > maxDescriptionBytes)
    throw new ToolServerError(`the description of the tool ${shown(tool)} is longer than 8 KiB`)
  if (tool.inputSchema.type !== 'object') throw new ToolServerError(`the tool ${shown(tool)} has a schema that is not of an object`)
  if (canonical(tool.inputSchema) === undefined)
    throw new ToolServerError(`the tool ${shown(tool)} has a schema that is too deep or holds text that is not well-formed`)
  return { name: tool.name, description, parameters: tool.inputSchema, sideEffects: tool.annotations?.readOnlyHint !== true }
}

const shown = (tool: Offered): string => JSON.stringify(oneLine(tool.name).slice(0, 64))

/** What became of the approved tools; `present` is what a pin of now would hold. Pure. */
export function differences(pinned: PinnedTool[], present: PinnedTool[]): Differences {
  const named = (tools: PinnedTool[], name: string): PinnedTool | undefined => tools.find((tool) => tool.name === name)
  return {
    added: present.filter((now) => !named(pinned, now.name)),
    removed: pinned.filter((before) => !named(present, before.name)),
    changed: pinned.flatMap((before) => {
      const now = named(present, before.name)
      return now && fingerprint(now) !== fingerprint(before) ? [{ before, now }] : []
    }),
  }
}

/** The fingerprints of a whole list by name: kept for a session's life, so a digest each and not the definitions. */
export function fingerprints(offered: Offered[]): Map<string, string> {
  const known = new Map<string, string>()
  for (const tool of offered) {
    // Of two with one name nobody knows which is called.
    const print = known.has(tool.name) ? '' : fingerprintOf(tool)
    known.set(tool.name, print)
  }
  return known
}

/** One that could not be approved today is none that was. */
function fingerprintOf(tool: Offered): string {
  try {
    return fingerprint(pinnedTool(tool))
  } catch (error) {
    if (error instanceof ToolServerError) return ''
    throw error
  }
}

/** Equal where all that was approved is equal; the order of a schema's keys is nobody's choice and does not count. */
export function fingerprint({ name, description, parameters, sideEffects }: PinnedTool): string {
  const text = canonical([name, description, parameters, sideEffects], -1)
  return createHash('sha256')
    .update(text ?? '')
    .digest('base64')
}

/** JSON with sorted keys; undefined where it is too deep or holds text that no store keeps as it is. */
function canonical(value: unknown, depth = 0): string | undefined {
  if (depth > deepestSchema) return undefined
  if (typeof value === 'string') return cleanText(value) === value ? JSON.stringify(value) : undefined
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(item, depth + 1))
    return items.includes(undefined) ? undefined : `[${items.join(',')}]`
  }
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, field]) => {
      const [name, text] = [canonical(key, depth + 1), canonical(field, depth + 1)]
      return name === undefined || text === undefined ? undefined : `${name}:${text}`
    })
  return fields.includes(undefined) ? undefined : `{${fields.join(',')}}`
}
