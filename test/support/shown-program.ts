/** A program of this repository in a separate process, with all of its output. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export type ShownProgram = {
  child: ChildProcess
  /** The output so far. */
  shown: { stdout: string; stderr: string }
  /** Resolves when the process has ended and all of its output was read. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Resolves when `stream` contains text that matches. Rejects if the process ends without it. */
  shows(stream: 'stdout' | 'stderr', text: RegExp): Promise<void>
}

/** Runs `file` with this Node. Of this process's environment only PATH is passed on. */
export function showProgram(file: string, args: string[], environment: Record<string, string>): ShownProgram {
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const shown = { stdout: '', stderr: '' }
  const ended = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }))
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (piece: string) => (shown[stream] += piece))

  async function shows(stream: 'stdout' | 'stderr', text: RegExp): Promise<void> {
    const gone = ended.then(() => 'gone' as const)
    while (!text.test(shown[stream])) {
      const news = await Promise.race([once(child[stream], 'data'), gone])
      if (news === 'gone' && !text.test(shown[stream]))
        throw new Error(`the program ended without showing ${text}:\n${shown.stdout}${shown.stderr}`)
    }
  }
  return { child, shown, ended, shows }
}
