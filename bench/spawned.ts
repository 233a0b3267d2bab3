/**
 * A server that the bench starts and measures: in an environment of its own, its output in a file, gone when the bench is gone. Ready when
 * its address answers, and how long that took from its spawn is the figure of the start.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { startGuarded } from '../test/support/guarded-process.ts'

export type Spawned = {
  pid: number
  /** Spawned to ready, milliseconds. */
  startMs: number
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>
}

export type SpawnOptions = {
  command: string
  args: string[]
  /** All of its environment. */
  env: Record<string, string>
  cwd?: string
  /** An address; answers below 500, or 200 exactly where `readyIs200`. */
  ready: string
  readyIs200?: boolean
  /** Of the bench; its log stands there, and it goes with the process. */
  folder: string
  /** Files that it may hold open, where the machine lets it. */
  openFiles?: number
}

const readyWithinMs = 90_000
// The figure is no finer than this.
const askEveryMs = 5

export async function spawnServer({ command, args, env, cwd, ready, readyIs200, folder, openFiles }: SpawnOptions): Promise<Spawned> {
  const log = join(folder, 'log')
  const settings = Object.entries({ PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env }).map(
    ([name, value]) => `${name}=${value}`,
  )
  // env and prlimit become what they start: the pid is the server's, and nothing of the bench's own environment comes with it.
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
      started.signal('SIGTERM')
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
