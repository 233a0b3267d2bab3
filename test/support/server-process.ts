/** The real server as a process of its own, for tests that kill it: `turnkeep serve` on a free port, ready when it says so on its log. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

export type ServerProcess = {
  url: string
  child: ChildProcess
  /** Milliseconds from spawn to listening. */
  startMs: number
  /** JSON log lines so far. */
  log: Record<string, unknown>[]
  stdout: string[]
  /** SIGKILL to this one process; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Rejects with what the server said where it ends before it is ready. */
export async function startServer(env: Record<string, string>): Promise<ServerProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['bin/turnkeep.js', 'serve'], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', NODE_ENV: 'test', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log: Record<string, unknown>[] = []
  const stdout: string[] = []
  const errors: string[] = []
  const exited = once(child, 'exit').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }))

  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => stdout.push(line))
    createInterface({ input: child.stderr! }).on('line', (line) => {
      const entry = parseLine(line)
      if (!entry) return errors.push(line)
      log.push(entry)
      if (entry['msg'] === 'listening') resolve(String(entry['url']))
      return undefined
    })
  })
  const url = await Promise.race([
    listening,
    exited.then(({ code, signal }) => {
      throw new Error(`the server ended (${code ?? signal}) before it listened:\n${[...stdout, ...errors].join('\n')}`)
    }),
  ])

  return {
    url,
    child,
    startMs: performance.now() - startedAt,
    log,
    stdout,
    exited,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      return (await exited).code
    },
  }
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}
