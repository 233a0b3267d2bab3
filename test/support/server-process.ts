/** The real server as a process of its own, for tests that kill it: `turnkeep serve` on a free port, ready when it says so on its log. */
import type { ChildProcess } from 'node:child_process'
import { isOurs } from './answer-check-run.ts'
import { showServer } from './shown-server.ts'

export type ServerProcess = {
  url: string
  child: ChildProcess
  /** JSON log lines so far. */
  readonly log: Record<string, unknown>[]
  readonly stdout: string[]
  /** SIGKILL to this one process; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Rejects with what the server said where it ends before it is ready. */
export async function startServer(env: Record<string, string>, program?: string): Promise<ServerProcess> {
  const { child, shown, ended, shows, stop } = showServer({ HOME: process.env['HOME'] ?? '', ...env }, program)
  const readLog = (): Record<string, unknown>[] => shown.stderr.split('\n').flatMap(parseLine)
  await shows('stderr', /"msg":"listening"\}\n/)
  const url = String(readLog().find(({ msg }) => msg === 'listening')!['url'])
  isOurs(url)

  return {
    url,
    child,
    get log() {
      return readLog()
    },
    get stdout() {
      return shown.stdout.split('\n')
    },
    exited: ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    stop,
  }
}

/** None for a line that is no JSON, and for one that is not whole yet. */
function parseLine(line: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(line) as Record<string, unknown>]
  } catch {
    return []
  }
}
