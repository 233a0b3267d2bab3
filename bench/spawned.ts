/**
 * A server that the bench starts and measures: with its own environment, its output in a file, ended with the bench. It is ready when its
 * URL responds; the time from its spawn until then is the start time.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { startGuarded } from '../test/support/guarded-process.ts'

export type Spawned = {
  pid: number
  /** Milliseconds from the spawn until it was ready. */
  startMs: number
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>
}

export type SpawnOptions = {
  command: string
  args: string[]
  /** Its complete environment. */
  env: Record<string, string>
  cwd?: string
  /** A URL; it is ready with a status below 500, or exactly 200 with `readyIs200`. */
  ready: string
  readyIs200?: boolean
  /** Of the bench; contains its log and is removed with the process. */
  folder: string
  /** The number of files that it may open, if the machine allows it. */
  openFiles?: number
  /** `stop` also ends the processes that it has started, because it does not do so itself. */
  endsAll?: boolean
}

const readyWithinMs = 90_000
// The resolution of the figure.
const askEveryMs = 5

export async function spawnServer({
  command,
  args,
  env,
  cwd,
  ready,
  readyIs200,
  folder,
  openFiles,
  endsAll = false,
}: SpawnOptions): Promise<Spawned> {
  const log = join(folder, 'log')
  const settings = Object.entries({ PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env }).map(
    ([name, value]) => `${name}=${value}`,
  )
  // env and prlimit replace themselves with the program they start, so the process ID is the server's, and nothing of the bench's own
  // environment is inherited.
  const inPlace = ['env', '-i', '-C', cwd ?? folder, ...settings, command, ...args]
  const line = openFiles === undefined ? inPlace : ['prlimit', `--nofile=${openFiles}:${openFiles}`, ...inPlace]
  const startedAt = performance.now()
  const started = await startGuarded(line[0]!, line.slice(1), { log, folder, endSignal: 'TERM' })
  for (;;) {
    if (await answers(ready, readyIs200 ?? false)) break
    if (!started.running) throw new Error(`${command} ended before it was ready:\n${readFileSync(log, 'utf8')}`)
    if (performance.now() - startedAt > readyWithinMs) {
      started.signalAll('SIGKILL')
      throw new Error(`${command} was not ready in ${readyWithinMs} ms:\n${readFileSync(log, 'utf8')}`)
    }
    await pass(askEveryMs)
  }
  const startMs = performance.now() - startedAt
  return {
    pid: started.pid,
    startMs,
    async stop() {
      if (endsAll) started.signalAll('SIGTERM')
      else started.signal('SIGTERM')
      await started.exited
    },
  }
}

async function answers(address: string, is200: boolean): Promise<boolean> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return is200 ? response.status === 200 : response.status < 500
  } catch {
    return false
  }
}
