/** The server as a person starts it, `turnkeep serve` in a process of its own, and everything it shows on its two outputs. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

export type ShownServer = {
  child: ChildProcess
  /** All of it so far. */
  shown: { stdout: string; stderr: string }
  /** Resolves when the process has ended and said all it had to say. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Resolves when `stream` holds what is looked for; rejects where the process ends without. */
  shows(stream: 'stdout' | 'stderr', text: RegExp): Promise<void>
  /** Resolves with the first lines that every start prints, when they are all there. */
  ready(): Promise<string>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
}

/**
 * On a free port of this machine unless `environment` says otherwise; nothing of this process's own environment is passed on but its PATH. `program` is
 * the bin/turnkeep.js of another build.
 */
export function showServer(environment: Record<string, string>, program = command): ShownServer {
  const env = { PATH: process.env['PATH'] ?? '', NODE_ENV: 'test', PORT: '0', ...environment }
  const child = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const shown = { stdout: '', stderr: '' }
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }))
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (piece: string) => (shown[stream] += piece))

  async function shows(stream: 'stdout' | 'stderr', text: RegExp): Promise<void> {
    const gone = ended.then(() => 'gone' as const)
    while (!text.test(shown[stream])) {
      const news = await Promise.race([once(child[stream]!, 'data'), gone])
      if (news === 'gone' && !text.test(shown[stream]))
        throw new Error(`the server ended without showing ${text}:\n${shown.stdout}${shown.stderr}`)
    }
  }

  return {
    child,
    shown,
    ended,
    shows,
    async ready() {
      await shows('stdout', /\/docs\n\n(Paste[\s\S]*\n\n)?$/)
      return shown.stdout
    },
    async stop() {
      child.kill('SIGTERM')
      return (await ended).code
    },
  }
}
