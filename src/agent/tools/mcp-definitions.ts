/**
 * Reads the tool definitions of an MCP server and compares them with those that the operator approved: name, description, schema, and
 * whether the tool is read-only. A tool that a model or a store cannot hold is left out with the reason, and the others stay. No description
 * is shortened, because then the operator would approve a different one than the server uses.
 */
import { createHash } from 'node:crypto'
import type { MCPClient } from '@ai-sdk/mcp'
import { cleanText } from '../clean-text.ts'
import { isObject, jsonOf } from '../models/transport/fields.ts'
import { oneLine } from './mcp-failure.ts'
import { usableSchema } from './mcp-schema.ts'
import { schemaProblem } from './schema/compiled-schema.ts'
import { ToolServerError } from './tool-config.ts'
import type { JsonSchema, PinnedTool, Pins, UnusableTool } from './tool-config.ts'

/** A tool that the server offers now. `problem`: why it cannot be approved, as a sentence without a subject. */
export type OfferedTool = PinnedTool & { problem?: string }
/** `problem`: why the list may not be complete. */
export type OfferedList = { tools: OfferedTool[]; problem?: string }

export type Differences = { added: PinnedTool[]; removed: PinnedTool[]; changed: { before: PinnedTool; now: PinnedTool }[] }

// The number of tools that the large providers accept in one request.
const maxTools = 128
// About 64,000 tokens, more than any prompt should spend on tool definitions.
const maxDefinitionBytes = 256 * 1024
// Of a list from which only some tools are used. The largest known servers have about 300 KiB.
const maxListBytes = 2 * 1024 * 1024
// Enough for 128 tools at four per page.
const maxPages = 32
// Characters. The cursors of known servers have up to 200, and the next request repeats it.
const maxCursor = 4096
// The longest published descriptions have about 3 KiB.
const maxDescriptionBytes = 8 * 1024
// Real schemas are nested about five deep. The limit bounds the recursion of the comparison.
const deepestSchema = 64
// The limit that the protocol recommends.
const maxName = 128

/** Returns the tools of all pages. A cursor that was sent before ends the list. Throws whatever the client throws. */
export async function listTools(client: MCPClient, signal: AbortSignal): Promise<OfferedList> {
  const tools: OfferedTool[] = []
  const sent = new Set<string>()
  let bytes = 0
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await client.listTools({ ...(cursor === undefined ? {} : { params: { cursor } }), options: { signal } })
    const accepted = new Set(answer.tools.map(({ name }) => name))
    for (const tool of (answer as unknown as { offered: OfferedTool[] }).offered) {
      tools.push(
        tool.problem !== undefined || accepted.has(tool.name) ? tool : { ...tool, problem: 'asks for headers that it must not ask for' },
      )
      bytes += sizeOf(tool)
    }
    if (bytes > maxListBytes) return { tools, problem: 'the server describes its tools in more than 2 MiB' }
    cursor = answer.nextCursor
    if (cursor === undefined || cursor === '' || sent.has(cursor)) return { tools }
    if (cursor.length > maxCursor) return { tools, problem: 'the server sent a page cursor that is too long' }
    sent.add(cursor)
  }
  return { tools, problem: `the server's list of tools does not end within ${maxPages} pages` }
}

/**
 * Returns the allowed tools, or all of them, in the server's order, and those of them that cannot be used. Throws ToolServerError if an
 * allowed tool is missing, or if there are too many.
 */
export function pinnedTools({ tools, problem }: OfferedList, allowed: string[] | null): Pins {
  const missing = (allowed ?? []).find((name) => !tools.some((tool) => tool.name === name))
  if (missing !== undefined) throw new ToolServerError(problem ?? `the server offers no tool ${JSON.stringify(missing)}`)
  if (allowed === null && problem !== undefined) throw new ToolServerError(`${problem}; ${advice}`)
  const kept = withoutRepeats(allowed === null ? tools : tools.filter(({ name }) => allowed.includes(name)))
  const usable = kept.filter((tool) => tool.problem === undefined)
  if (usable.length > maxTools) throw new ToolServerError(`the server offers more than ${maxTools} tools; ${advice}`)
  if (usable.reduce((sum, tool) => sum + sizeOf(tool), 0) > maxDefinitionBytes)
    throw new ToolServerError(`the server describes its tools in more than 256 KiB; ${advice}`)
  const pinned: PinnedTool[] = []
  const unusable: UnusableTool[] = []
  for (const { problem: known, ...tool } of kept) {
    // Not strict, because a server's language may write regular expressions differently. Such a pattern checks nothing.
    const found = known ?? withSubject('its schema', schemaProblem(tool.parameters, false))
    if (found === undefined) pinned.push(tool)
    else if (unusable.length < maxTools) unusable.push({ name: shown(tool.name), reason: found })
  }
  return { pinned, unusable }
}

const advice = 'choose some of them with "allowed"'

const withSubject = (subject: string, problem: string | undefined): string | undefined => problem && `${subject} ${problem}`

/** A tool that is listed twice is one tool if both definitions are the same; otherwise it is undefined which one gets called. */
function withoutRepeats(tools: OfferedTool[]): OfferedTool[] {
  const byName = new Map<string, OfferedTool>()
  for (const tool of tools) {
    const known = byName.get(tool.name)
    const repeats = known === undefined || fingerprint(known) === fingerprint(tool)
    byName.set(
      tool.name,
      known === undefined ? tool : repeats ? known : { ...known, problem: 'is offered twice, with different definitions' },
    )
  }
  return [...byName.values()]
}

/** Reads the list of tools in a result. Throws ToolServerError if it is not a list; null is an empty one. */
export function readTools(list: unknown): OfferedTool[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw new ToolServerError('the server returned a list of tools that is not a list')
  return list.map((tool, index) => readTool(tool, index))
}

function readTool(given: unknown, index: number): OfferedTool {
  const { name, description: text, inputSchema, annotations } = isObject(given) ? given : {}
  const unnamed = typeof name !== 'string' || name === ''
  const description = typeof text === 'string' ? text : ''
  const schema = usableSchema(inputSchema)
  const tool = {
    name: unnamed ? `tools[${index}]` : name,
    description,
    parameters: schema ?? { type: 'object' },
    // Only a plain "true" is a promise.
    sideEffects: !isObject(annotations) || annotations['readOnlyHint'] !== true,
  }
  const problem = unnamed ? 'has no name' : problemOf(tool, schema)
  // What cannot be approved is not kept either.
  return problem === undefined ? tool : { ...tool, description: '', parameters: { type: 'object' }, problem }
}

function problemOf({ name, description, parameters }: PinnedTool, schema: JsonSchema | undefined): string | undefined {
  if (name.length > maxName || name.trim() !== name || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name) || cleanText(name) !== name)
    return `its name is not one line of 1 to ${maxName} characters without a blank at either end`
  if (cleanText(description) !== description) return 'its description is not well-formed text'
  if (Buffer.byteLength(description) > maxDescriptionBytes) return 'its description is longer than 8 KiB'
  if (schema?.['type'] !== 'object') return 'its schema is not that of an object'
  const text = canonical(parameters)
  if (text === undefined) return 'its schema is too deep or holds text that is not well-formed'
  return text.length > maxDefinitionBytes ? 'its schema is larger than 256 KiB' : undefined
}

const shown = (name: string): string => oneLine(name).slice(0, maxName).toWellFormed()

const sizeOf = ({ name, description, parameters }: PinnedTool): number =>
  Buffer.byteLength(jsonOf({ name, description, inputSchema: parameters }) ?? '')

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
 * Returns the fingerprint of each tool by name, and an empty text, which matches no approved tool, for one that could not be approved now. The
 * result is kept as long as the session, so it holds digests and not whole definitions.
 */
export function fingerprints({ tools }: OfferedList): Map<string, string> {
  return new Map(withoutRepeats(tools).map((tool) => [tool.name, tool.problem === undefined ? fingerprint(tool) : '']))
}

/** Definitions never change, and an approved one is compared at every call. */
const digests = new WeakMap<PinnedTool, string>()

/**
 * Returns the same digest for definitions that are equal in all approved fields, whatever the order of keys in the schema. A schema that was
 * approved as the server wrote it equals its usable form.
 */
export function fingerprint(tool: PinnedTool): string {
  const found = digests.get(tool)
  if (found !== undefined) return found
  const { name, description, parameters, sideEffects } = tool
  const text = canonical([name, description, usableSchema(parameters), sideEffects], -1)
  const digest = createHash('sha256')
    .update(text ?? '')
    .digest('base64')
  digests.set(tool, digest)
  return digest
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
