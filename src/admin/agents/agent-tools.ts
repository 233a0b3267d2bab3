/**
 * The tools of an agent as an operator writes and sees them. Values of headers and secrets are accepted and never returned. The tools of an
 * MCP server are those that the operator approved. Servers are called before anything is written, never within a transaction.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Guard } from '../../agent/guard/guard.ts'
import {
  checkTools,
  definitionsOf,
  differences,
  openTexts,
  originOf,
  sealTools,
  ToolServerError,
  toolTokens,
} from '../../agent/tools/tools.ts'
import type {
  BuiltInTool,
  HttpTool,
  McpServer,
  OpenMcpServer,
  OpenTool,
  PinnedTool,
  Pins,
  Sealed,
  SealedFor,
  SealedKind,
  ToolConfig,
  Tools,
  UnusableTool,
} from '../../agent/tools/tools.ts'
import { invalid } from '../../errors.ts'
import { haveSameKey, UnsealError } from '../../config/secrets.ts'
import type { Sealer } from '../../config/secrets.ts'

/** null: keep the value that is stored under this name for this tool. */
export type GivenTexts = Record<string, string | null>
export type GivenTool =
  | (Omit<HttpTool, 'headers' | 'secrets'> & { headers: GivenTexts; secrets: GivenTexts })
  | (Omit<McpServer, 'headers' | 'pinned' | 'unusable'> & { headers: GivenTexts })
  | BuiltInTool
export type GivenServer = Extract<GivenTool, { type: 'mcp' }>

/** Of headers and secrets, only the names. */
export type ShownTool =
  | (Omit<HttpTool, 'headers' | 'secrets'> & { headers: string[]; secrets: string[] })
  | (Omit<McpServer, 'headers'> & { headers: string[] })
  | BuiltInTool

export type ToolsOfAgents = {
  /**
   * Returns what to store for these tools in place of `present`. A server with the same URL, headers and allowed tools keeps its pinned
   * tools; others are called. `asked` caches their answers for a second attempt. Throws ApiError `validation_error`. `at`: `tools` by default.
   */
  resolve(given: GivenTool[], present: ToolConfig[], agentId: string, asked: Asked, at?: ToolsAt): Promise<ToolConfig[]>
  /** What every MCP server offers now. Throws ApiError `validation_error` if a server cannot be called. */
  pinAgain(present: ToolConfig[], agentId: string): Promise<McpServer[]>
  /**
   * Checks an MCP server that is not saved, with the stored values that it keeps, and returns a function that reads the tools that saving
   * it would pin. Both throw ApiError `validation_error`, the function also if the server cannot be called.
   */
  openServer(given: GivenServer, present: ToolConfig[], agentId: string): () => Promise<Pins>
}
export type Asked = Map<string, Promise<Pins>>

/** The field of the request that has the tools: all of the agent, or the only one that is tried. */
type ToolsAt = 'tools' | 'definition'

/** The path of a field of the tool at this index (`admin.param`). */
const fieldOf = (at: ToolsAt, index: number, field: string): string => (at === 'tools' ? `${at}.${index}.${field}` : `${at}.${field}`)

// Even with all other fields at their maximum, the hold stays below two million tokens (src/http/admin/agents/agent-bodies.ts). A prompt
// that is half tools is not useful.
const maxToolTokens = 100_000

type Options = { sealer: Sealer; tools: Pick<Tools, 'pin'>; guard: Pick<Guard, 'refusedAddress'> }

export function createToolsOfAgents({ sealer, tools, guard }: Options): ToolsOfAgents {
  /** Throws ApiError `validation_error`. */
  function refuse(opened: OpenTool[], at: ToolsAt): void {
    const problem = checkTools(opened)
    if (problem) throw invalid('field' in problem ? fieldOf(at, problem.tool, problem.field) : at, problem.message)
    for (const [index, tool] of opened.entries()) {
      // The host of a URL contains no placeholder, and the rest does not matter here.
      const refusal = tool.type === 'builtin' ? undefined : guard.refusedAddress(tool.url.replaceAll(/[{}]/g, ''))
      if (refusal !== undefined) throw invalid(fieldOf(at, index, 'url'), `The tool ${tool.name}: ${refusal}.`)
    }
  }

  /** `field`: of the URL, null if it is stored. */
  async function pin({ name, url, headers, allowed }: OpenMcpServer, asked: Asked, field: string | null): Promise<Pins> {
    const key = JSON.stringify([url, headers, allowed])
    const answer = asked.get(key) ?? tools.pin({ url, headers, allowed })
    asked.set(key, answer)
    try {
      return await answer
    } catch (error) {
      if (!(error instanceof ToolServerError)) throw error
      throw invalid(field, `The MCP server ${name}: ${error.message.replace(/\.$/, '')}.`)
    }
  }

  /**
   * Returns the stored form. A value that has not changed keeps its encrypted text, so that saving it again changes nothing, unless there is
   * a newer key.
   */
  function seal(open: OpenTool, stored: ToolConfig | undefined, agentId: string): ToolConfig {
    const [sealed] = sealTools([open], agentId, sealer)
    if (!sealed || sealed.type === 'builtin' || open.type === 'builtin') return sealed!
    const place = { agentId, ...open }
    const keep = (
      kind: SealedKind,
      fresh: Record<string, Sealed>,
      values: Record<string, string>,
      previous: Record<string, Sealed>,
    ): Record<string, Sealed> =>
      Object.fromEntries(
        Object.entries(fresh).map(([name, text]) => {
          const isUnchanged = openOne(previous, kind, name, place) === values[name] && haveSameKey(bytesOf(previous[name]!), bytesOf(text))
          return [name, isUnchanged ? previous[name]! : text]
        }),
      )
    if (sealed.type === 'http' && open.type === 'http' && stored?.type === 'http') {
      const headers = keep('headers', sealed.headers, open.headers, stored.headers)
      return { ...sealed, headers, secrets: keep('secrets', sealed.secrets, open.secrets, stored.secrets) }
    }
    if (sealed.type === 'mcp' && open.type === 'mcp' && stored?.type === 'mcp')
      return { ...sealed, headers: keep('headers', sealed.headers, open.headers, stored.headers) }
    return sealed
  }

  /**
   * Returns undefined if there is no such value, or if it was encrypted for another server than that of `place`, or with a key that no
   * longer exists.
   */
  function openOne(previous: Record<string, Sealed>, kind: SealedKind, name: string, place: SealedFor): string | undefined {
    // A header may have the name of an inherited property.
    if (!Object.hasOwn(previous, name)) return undefined
    try {
      return openTexts({ [name]: previous[name]! }, kind, place, sealer)[name]
    } catch (error) {
      if (error instanceof UnsealError) return undefined
      throw error
    }
  }

  /** Whether these are the stored headers, whichever key they are encrypted with. */
  function areStored(open: OpenMcpServer, previous: Record<string, Sealed>, agentId: string): boolean {
    const names = Object.keys(open.headers)
    const isStored = (name: string): boolean => openOne(previous, 'headers', name, { agentId, ...open }) === open.headers[name]
    return names.length === Object.keys(previous).length && names.every(isStored)
  }

  type Stored = { stored: ToolConfig | undefined; agentId: string; fieldOf: (name: string) => string | null }

  /** `fieldOf` returns the path of a field of the tool in the request. */
  function openTool(given: GivenServer, from: Stored): OpenMcpServer
  function openTool(given: GivenTool, from: Stored): OpenTool
  function openTool(given: GivenTool, { stored, agentId, fieldOf: pathOf }: Stored): OpenTool {
    if (given.type === 'builtin') return given
    const place = { agentId, ...given }
    const fill = (kind: SealedKind, texts: GivenTexts, previous: Record<string, Sealed>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(texts).map(([name, text]) => {
          const value = text ?? openOne(previous, kind, name, place)
          if (value !== undefined) return [name, value]
          const why = moved ? 'must be sent again, because the URL points to another server' : 'has no stored value: send a value'
          throw invalid(
            pathOf(kind),
            `The ${kind === 'headers' ? 'header' : 'secret'} ${/^[\w.-]+$/.test(name) ? name : JSON.stringify(name)} of the tool ${given.name} ${why}.`,
          )
        }),
      )
    // A secret that is never shown must not be sent to another server either.
    const moved = stored !== undefined && stored.type !== 'builtin' && originOf(stored.url) !== originOf(given.url)
    const kept = moved ? undefined : stored
    const headers = fill('headers', given.headers, kept?.type === given.type ? kept.headers : {})
    if (given.type === 'mcp') return { ...given, headers, pinned: [] }
    return { ...given, headers, secrets: fill('secrets', given.secrets, kept?.type === 'http' ? kept.secrets : {}) }
  }

  return {
    async resolve(given, present, agentId, asked, at = 'tools') {
      const all = given.map((tool, index) => {
        const stored = present.find(({ type, name }) => type === tool.type && name === tool.name)
        const opened = openTool(tool, { stored, agentId, fieldOf: (name) => fieldOf(at, index, name) })
        return { opened, stored, sealed: seal(opened, stored, agentId) }
      })
      refuse(
        all.map(({ opened }) => opened),
        at,
      )
      const resolved = await Promise.all(
        all.map(async ({ opened, stored, sealed }, index): Promise<ToolConfig> => {
          if (opened.type !== 'mcp' || sealed.type !== 'mcp') return sealed
          const isUnchanged =
            stored?.type === 'mcp' &&
            areStored(opened, stored.headers, agentId) &&
            isSameServer({ ...sealed, headers: stored.headers }, stored)
          return { ...sealed, ...storedPins(isUnchanged ? stored : await pin(opened, asked, fieldOf(at, index, 'url'))) }
        }),
      )
      refuse(
        all.map(({ opened }, index) => withPins(opened, resolved[index]!)),
        at,
      )
      refuseDefinitions(resolved, at)
      return resolved
    },

    pinAgain(present, agentId) {
      return Promise.all(
        present
          .filter((tool) => tool.type === 'mcp')
          .map(async (server) => {
            const opened = openTool(
              { ...server, headers: Object.fromEntries(Object.keys(server.headers).map((name) => [name, null])) },
              { stored: server, agentId, fieldOf: () => null },
            )
            const { unusable: _, ...rest } = server
            return { ...rest, ...storedPins(await pin(opened, new Map(), null)) }
          }),
      )
    },

    openServer(given, present, agentId) {
      const stored = present.find(({ type, name }) => type === given.type && name === given.name)
      const at = 'definition'
      const opened = openTool(given, { stored, agentId, fieldOf: (name) => fieldOf(at, 0, name) })
      refuse([opened], at)
      return async () => {
        const pins = await pin(opened, new Map(), fieldOf(at, 0, 'url'))
        refuse([{ ...opened, pinned: pins.pinned }], at)
        refuseDefinitions([{ ...given, headers: {}, pinned: pins.pinned }], at)
        return pins
      }
    },
  }
}

/** What a version stores of the pins. It has a list of unusable tools only if the server offers one. */
const storedPins = ({ pinned, unusable = [] }: Pick<McpServer, 'pinned' | 'unusable'>): Pick<McpServer, 'pinned' | 'unusable'> =>
  unusable.length === 0 ? { pinned } : { pinned, unusable }

const withPins = (tool: OpenTool, resolved: ToolConfig): OpenTool =>
  tool.type === 'mcp' && resolved.type === 'mcp' ? { ...tool, pinned: resolved.pinned } : tool

/** Checks what the model would receive. Throws ApiError `validation_error`. `at` is null if the tools are not in the request. */
export function refuseDefinitions(tools: ToolConfig[], at: ToolsAt | null): void {
  const definitions = definitionsOf(tools)
  const twice = definitions.find(({ name }, index) => definitions.findIndex((other) => other.name === name) !== index)
  if (twice) throw invalid(at, `Two tools have the name ${twice.name}.`)
  const tokens = toolTokens(definitions)
  if (tokens > maxToolTokens)
    throw invalid(at, `The tool definitions use up to ${tokens} tokens of every prompt. The limit is ${maxToolTokens}.`)
}

export function showTool(tool: ToolConfig): ShownTool {
  switch (tool.type) {
    case 'http':
      return { ...tool, headers: Object.keys(tool.headers), secrets: Object.keys(tool.secrets) }
    case 'mcp':
      return { ...tool, headers: Object.keys(tool.headers) }
    case 'builtin':
      return tool
  }
}

/** How an approved tool of an MCP server has changed. */
export type ToolDifference = { server: string; tool: string } & (
  | { change: 'added'; now: PinnedTool }
  | { change: 'removed'; before: PinnedTool }
  | { change: 'changed'; before: PinnedTool; now: PinnedTool }
)

/** What the servers offer now, compared with what is pinned. `version`: the current one. */
export type ToolComparison = { differences: ToolDifference[]; unusable: UnusableOfServer[]; version: number }

export function differencesOf({ name: server, pinned }: Pick<McpServer, 'name' | 'pinned'>, now: PinnedTool[]): ToolDifference[] {
  const { added, removed, changed } = differences(pinned, now)
  return [
    ...added.map((tool) => ({ server, tool: tool.name, change: 'added' as const, now: tool })),
    ...removed.map((tool) => ({ server, tool: tool.name, change: 'removed' as const, before: tool })),
    ...changed.map((one) => ({ server, tool: one.now.name, change: 'changed' as const, ...one })),
  ]
}

/** The tools of servers that cannot be used, with the name of their server. */
export type UnusableOfServer = UnusableTool & { server: string }
export const unusableOf = ({ name: server, unusable = [] }: Pick<McpServer, 'name' | 'unusable'>): UnusableOfServer[] =>
  unusable.map((tool) => ({ server, ...tool }))

/** Whether two tools are the same apart from what was read from the server and what a call costs. */
export const isSameServer = (one: McpServer, other: ToolConfig): boolean =>
  other.type === 'mcp' &&
  isDeepStrictEqual({ ...one, pinned: [], unusable: [], price: 0 }, { ...other, pinned: [], unusable: [], price: 0 })

const bytesOf = (sealed: Sealed): Uint8Array => Buffer.from(sealed, 'base64')
