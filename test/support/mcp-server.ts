/**
 * A real MCP server for tests: `@modelcontextprotocol/server-everything` over streamable HTTP, as a separate process on a free port, ended
 * with the test process.
 *
 *     const server = await startMcpServer()
 *     await server.restart()        // the same address; every session is forgotten
 *     await server.stop()
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, startGuarded } from './guarded-process.ts'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
// It is ready within a second on an idle machine; these limits are for a very busy one.
const readyWithinMs = 60_000

export type McpServerProcess = {
  url: string
  /** For the guard's list of private hosts. */
  host: string
  port: number
  pid: number
  restart(): Promise<void>
  /** Nothing listens after it, until `restart`. */
  halt(): Promise<void>
  stop(): Promise<void>
}

export async function startMcpServer(): Promise<McpServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-mcp-'))
  const log = join(folder, 'log')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/mcp`

  async function launch() {
    const args = [`PORT=${port}`, process.execPath, program, 'streamableHttp']
    const started = await startGuarded('env', args, { log, folder, endSignal: 'TERM' })
    const limit = Date.now() + readyWithinMs
    while (!(await answers(url))) {
      if (!started.running || Date.now() > limit) {
        started.signal('SIGKILL')
        throw new Error(`the MCP server did not start:\n${await readFile(log, 'utf8')}`)
      }
      await pass(20)
    }
    return started
  }

  let server = await launch()

  async function halt(): Promise<void> {
    if (!server.running) return
    server.signal('SIGKILL')
    await server.exited
  }

  return {
    url,
    host: '127.0.0.1',
    port,
    get pid() {
      return server.pid
    },
    halt,
    async restart() {
      await halt()
      server = await launch()
    },
    async stop() {
      await halt()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.body?.cancel()
    return true
  } catch {
    // Not listening yet.
    return false
  }
}
