/**
 * The real server for development, started by `npm run dev` and `npm run seed`: src/main.ts, plus what the sample agents call (seed/scripted-server.ts)
 * and a socket that moves the store's clock (clock-socket.ts). Refuses NODE_ENV=production, and is not in the npm package or the image.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { readConfig } from '../src/config/config.ts'
import { serve } from '../src/main.ts'
import type { SqliteStore } from '../src/store/sqlite/sqlite.ts'
import { ClockOffset, openClockSocket } from './clock-socket.ts'
import { startScriptedServer } from './seed/scripted-server.ts'
import type { ScriptedServer } from './seed/scripted-server.ts'

/** What dev/server-process.ts is sent when the server is ready. */
export type ReadyMessage = { url: string; adminUrl: string }

if (process.env['NODE_ENV'] === 'production') {
  console.error('turnkeep: the development server lets its clock be moved, so it does not run with NODE_ENV=production; use npm start')
  process.exit(2)
}

const outcome = readConfig(process.env)
// With PostgreSQL the clock is the database's, and other servers may share it.
const folder = outcome.kind === 'config' && outcome.config.databaseUrl === undefined ? outcome.config.dataFolder : undefined
let clock: ClockOffset | undefined
let passedMs = 0
const measure = performance.now.bind(performance)
performance.now = () => measure() + passedMs
const scripted = folder === undefined ? undefined : await startScriptedOf(folder)
const environment = {
  ...process.env,
  // A restart is not to wait two minutes for a stream that someone left open.
  TURNKEEP_DRAIN_SECONDS: process.env['TURNKEEP_DRAIN_SECONDS'] || '5',
  TURNKEEP_LOG_LEVEL: process.env['TURNKEEP_LOG_LEVEL'] || 'warn',
  TURNKEEP_ALLOW_PRIVATE_HOSTS: [process.env['TURNKEEP_ALLOW_PRIVATE_HOSTS'], scripted?.address].filter(Boolean).join(','),
}
// The parent's end is ours, however it ends.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
const { url, adminUrl } = await serve(environment, (store) => {
  if (folder !== undefined) clock = new ClockOffset((milliseconds) => (store as SqliteStore).moveClock(milliseconds))
})
if (folder !== undefined && clock && scripted) {
  // Only now: the folder is there, and its lock is ours.
  writeFileSync(portFile(folder), `${JSON.stringify({ scriptedPort: scripted.port })}\n`, { mode: 0o600 })
  // A socket's path may have about 100 characters. The server is of use without it.
  await openClockSocket(folder, clock, { url, adminUrl, scriptedUrl: scripted.url }).catch((error: unknown) =>
    console.error(`turnkeep: npm run seed cannot reach this server, no socket in ${folder}: ${String(error)}`),
  )
}
process.send?.({ url, adminUrl } satisfies ReadyMessage)

/**
 * How long the sample agents take. While npm run seed holds the clock, no one waits: the store's clock moves, and the process's own clock,
 * which the times of a trace are measured with. Otherwise it is real time, so that replies arrive as those of a model do.
 */
async function think(milliseconds: number): Promise<void> {
  if (!clock?.isHeld) return pass(milliseconds)
  passedMs += milliseconds
  await clock.advance(milliseconds)
}

/** Uses the port of the last run if it is free, so that the address in seeded providers and tools stays right. */
async function startScriptedOf(dataFolder: string): Promise<ScriptedServer> {
  return startScriptedServer({ port: readPort(portFile(dataFolder)), think }).catch(() => startScriptedServer({ think }))
}

function portFile(dataFolder: string): string {
  return join(dataFolder, 'development.json')
}

function readPort(file: string): number {
  try {
    const { scriptedPort } = JSON.parse(readFileSync(file, 'utf8')) as { scriptedPort?: unknown }
    return Number(scriptedPort) || 0
  } catch {
    return 0
  }
}
