/** The real server as a separate process, for tests that kill it: `turnkeep serve` on a free port, ready when its log says so. */
import type { ChildProcess } from 'node:child_process'
import { isOurs } from './answer-check-run.ts'
import { showServer } from './shown-server.ts'

export type ServerProcess = {
  url: string
  child: ChildProcess
  /** The JSON log lines so far. */
  readonly log: Record<string, unknown>[]
  readonly stdout: string[]
  /** SIGKILL to this process. Resolves when it has ended. */
  kill(): Promise<void>
  /** SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Rejects with the server's output if it ends before it is ready. */
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

/** Empty for a line that is not JSON, and for an incomplete line. */
function parseLine(line: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(line) as Record<string, unknown>]
  } catch {
    return []
  }
}
