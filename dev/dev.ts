/**
 * `npm run dev`: the real server, restarted when a file below src/ is saved, and the console with hot reload. Ctrl-C ends both. A server that
 * ends by itself is started again at the next save. Exit codes: 0 ended by a signal · 1 failed · 2 could not start, for example on a taken port.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startHotConsole } from '../packages/console/hot-reload.ts'
import { readConfig } from '../src/config/config.ts'
import type { Config } from '../src/config/config.ts'
import { ServerEnded, startServerProcess } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'
import { watchSources } from './watch.ts'

const root = join(import.meta.dirname, '..')
// Vite's own usual port.
const firstConsolePort = 5173

function refuse(lines: string[]): never {
  for (const line of lines) console.error(`dev: ${line}`)
  process.exit(2)
}

if (process.env['NODE_ENV'] === 'production') refuse(['npm run dev is for development; with NODE_ENV=production use npm start'])
const outcome = readConfig(process.env)
if (outcome.kind === 'problems') refuse(outcome.problems)
const { config } = outcome
// A port that the system chooses would be another one after each restart.
const port = config.port || (await freePort(config.host))
const adminPort = config.adminPort === 0 ? await freePort(config.host) : config.adminPort
const environment = { ...process.env, PORT: String(port), ...(adminPort === undefined ? {} : { TURNKEEP_ADMIN_PORT: String(adminPort) }) }
const apiUrl = addressOf(config.host, port)
const adminUrl = addressOf(config.host, adminPort ?? port)

let server: ServerProcess = startServerProcess(environment)
let wasReady = false
let isEnding = false
let isRestarting = false
let savedFile: string | undefined
const watcher = watchSources(root, 'src', (file) => void restart(file))
const hotConsole = await startHotConsole({ apiUrl, adminUrl, port: firstConsolePort })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end())
void report(server)

/** One restart at a time; a save during one leads to another. */
async function restart(file: string): Promise<void> {
  savedFile = file
  if (isRestarting) return
  isRestarting = true
  while (savedFile !== undefined) {
    const saved = savedFile
    savedFile = undefined
    await server.stop()
    if (isEnding) return
    server = startServerProcess(environment)
    void report(server, saved)
  }
  isRestarting = false
}

/** Says how a start went, and when the server ends by itself. */
async function report(current: ServerProcess, saved?: string): Promise<void> {
  const isWanted = (): boolean => !isEnding && !isRestarting && server === current
  try {
    await current.ready
    if (isEnding) return
    console.log(wasReady ? `Restarted: ${saved} was saved.` : readyLines(config))
    wasReady = true
    const code = await current.ended
    if (isWanted()) console.error(`dev: the server ended with exit code ${code}; waiting for the next save`)
  } catch (error) {
    if (!(error instanceof ServerEnded)) throw error
    if (!isWanted()) return
    // The server has said why. Settings that are refused, or a port that is taken, are not fixed by saving a file.
    if (!wasReady && error.code === 2) return end(2)
    console.error(`dev: the server could not start (exit code ${error.code}); waiting for the next save`)
  }
}

async function end(code = 0): Promise<void> {
  // The second Ctrl-C is impatient.
  if (isEnding) return server.kill()
  isEnding = true
  watcher.close()
  await Promise.all([server.stop(), hotConsole.close()])
  process.exit(code)
}

function readyLines({ dataFolder, databaseUrl, adminToken }: Config): string {
  return `
Turnkeep is ready for development. A saved file below src/ restarts the server; the console reloads by itself.

  API          ${apiUrl}  (docs at ${apiUrl}/docs)
  console      ${hotConsole.url}
  admin token  ${adminToken === undefined ? `in ${join(dataFolder, 'admin.token')}` : 'from TURNKEEP_ADMIN_TOKEN'}
  sample data  ${databaseUrl === undefined ? 'npm run seed, in another terminal' : 'not with DATABASE_URL; see npm run seed -- --help'}

Press Ctrl-C to stop.
`
}

function addressOf(host: string, of: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${of}`
}

async function freePort(host: string): Promise<number> {
  const listener = createServer().listen(0, host)
  await once(listener, 'listening')
  const { port: free } = listener.address() as AddressInfo
  await new Promise((resolve) => listener.close(resolve))
  return free
}
