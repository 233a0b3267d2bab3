/**
 * Reads the tool definitions of an MCP server and compares them with those that the operator approved: name, description, schema, and
 * whether the tool is read-only. A definition that a model or a store cannot hold is rejected; none is repaired or shortened, because then
 * the operator would approve a different definition than the server uses.
 */
import { createHash } from 'node:crypto'
import type { ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { cleanText } from '../clean-text.ts'
import { isObject } from '../models/transport/fields.ts'
import { oneLine } from './mcp-failure.ts'
import { schemaProblem } from './schema/compiled-schema.ts'
import { ToolServerError } from './tool-config.ts'
import type { PinnedTool } from './tool-config.ts'

type Offered = ListToolsResult['tools'][number]

export type Differences = { added: PinnedTool[]; removed: PinnedTool[]; changed: { before: PinnedTool; now: PinnedTool }[] }

// The number of tools that the large providers accept in one request.
const maxTools = 128
// About 64,000 tokens, more than any prompt should spend on tool definitions.
const maxDefinitionBytes = 256 * 1024
// Enough for 128 tools at four per page.
const maxPages = 32
// Characters. The cursors of known servers have up to 200, and the next request repeats it.
const maxCursor = 4096
// The longest published descriptions have about 3 KiB.
const maxDescriptionBytes = 8 * 1024
// Real schemas are nested about five deep. The limit bounds the recursion of the comparison.
const deepestSchema = 64
/** The names that the protocol recommends; they are sent in a header without encoding. */
const toolName = /^[A-Za-z0-9_./-]{1,128}$/

/** Returns the tools of all pages. Throws ToolServerError if they exceed the limits, or whatever the client throws. */
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
    if (cursor.length > maxCursor) throw new ToolServerError('the server sent a page cursor that is too long')
  }
  throw new ToolServerError(`the server's list of tools does not end within ${maxPages} pages`)
}

/** Returns the allowed tools, or all of them, in the server's order. Throws ToolServerError, which names the tool. */
export function pinnedTools(offered: Offered[], allowed: string[] | null): PinnedTool[] {
  const missing = (allowed ?? []).find((name) => !offered.some((tool) => tool.name === name))
  if (missing !== undefined) throw new ToolServerError(`the server offers no tool ${JSON.stringify(missing)}`)
  const kept = offered.filter((tool) => allowed === null || allowed.includes(tool.name))
  const twice = kept.find((tool, index) => kept.findIndex((other) => other.name === tool.name) !== index)
  if (twice) throw new ToolServerError(`the server offers two tools called ${shown(twice)}`)
  // First, because this limits how deeply a schema is nested.
  const pinned = kept.map(pinnedTool)
  for (const tool of kept) {
    // Not strict, because a server's language may write regular expressions differently. Such a pattern checks nothing.
    const problem = schemaProblem(tool.inputSchema, false)
    if (problem !== undefined) throw new ToolServerError(`the schema of the tool ${shown(tool)} ${problem}; leave it out with "allowed"`)
  }
  return pinned
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

/** Compares the approved tools with the ones a new pin would contain (`present`). */
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

/**
 * Returns the fingerprint of each tool by name. The result is kept as long as the session, so it holds digests and not whole definitions.
 */
export function fingerprints(offered: Offered[]): Map<string, string> {
  const known = new Map<string, string>()
  for (const tool of offered) {
    // With two tools of the same name it is undefined which one gets called, so neither matches an approved definition.
    const print = known.has(tool.name) ? '' : fingerprintOf(tool)
    known.set(tool.name, print)
  }
  return known
}

/** Returns an empty string, which matches no approved tool, for a tool that could not be approved now. */
function fingerprintOf(tool: Offered): string {
  try {
    return fingerprint(pinnedTool(tool))
  } catch (error) {
    if (error instanceof ToolServerError) return ''
    throw error
  }
}

/** Returns the same digest for definitions that are equal in all approved fields, whatever the order of keys in the schema. */
export function fingerprint({ name, description, parameters, sideEffects }: PinnedTool): string {
  const text = canonical([name, description, parameters, sideEffects], -1)
  return createHash('sha256')
    .update(text ?? '')
    .digest('base64')
}

/** Returns JSON with sorted keys, or undefined if the value is too deep or contains text that is not well-formed. */
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
