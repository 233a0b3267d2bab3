/** Asks MCP servers of a test as the product does: through the real guard, with its log kept. Limits are short only where a test needs their end. */
import { Writable } from 'node:stream'
import { createGuard } from '../../src/agent/guard/guard.ts'
import { createMcp } from '../../src/agent/tools/mcp.ts'
import type { Mcp, McpLimits } from '../../src/agent/tools/mcp.ts'
import type { McpServer, PinnedTool, Pins, ToolResult } from '../../src/agent/tools/tool-config.ts'
import { createLog } from '../../src/observability/log.ts'

export type Place = { url: string; host: string; port: number }
export type Ask = {
  args?: Record<string, unknown>
  key?: string
  headers?: Record<string, string>
  signal?: AbortSignal
  pinned?: PinnedTool[]
}
export type Caller = {
  mcp: Mcp
  /** Of the log. */
  lines: Record<string, unknown>[]
  logText(): string
  pin(place: Place, allowed?: string[] | null, headers?: Record<string, string>): Promise<PinnedTool[]>
  /** With the tools that cannot be used. */
  pins(place: Place, allowed?: string[] | null): Promise<Pins>
  /** Pins first where nothing is said of what is pinned. */
  ask(place: Place, tool: string, ask?: Ask): Promise<ToolResult>
  close(): Promise<void>
}

export function startCaller(places: Place[], limits: Partial<McpLimits> = {}): Caller {
  const guard = createGuard({ allowPrivateHosts: places.map(({ host, port }) => `${host}:${port}`) })
  const lines: Record<string, unknown>[] = []
  let text = ''
  const destination = new Writable({
    write(bytes, _encoding, done) {
      text += String(bytes)
      lines.push(JSON.parse(String(bytes)))
      done()
    },
  })
  const mcp = createMcp({ guard, log: createLog('info', { destination }), limits })

  async function pin({ url }: Place, allowed: string[] | null = null, headers = {}): Promise<PinnedTool[]> {
    return (await mcp.pin({ url, headers, allowed })).pinned
  }

  return {
    mcp,
    lines,
    logText: () => text,
    pin,
    pins: ({ url }, allowed = null) => mcp.pin({ url, headers: {}, allowed }),
    async ask(place, tool, { args = {}, key = 'request:1:1', headers = {}, signal = new AbortController().signal, pinned } = {}) {
      const server: McpServer = {
        type: 'mcp',
        name: 'peer',
        url: place.url,
        headers: {},
        allowed: null,
        pinned: pinned ?? (await pin(place, null, headers)),
      }
      return mcp.call({ server, headers, tool, args, idempotencyKey: key, signal })
    },
    async close() {
      await mcp.close()
      await guard.close()
    },
  }
}
