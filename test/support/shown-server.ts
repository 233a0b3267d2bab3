/** The server as a person starts it, `turnkeep serve` in a process of its own, and everything it shows on its two outputs. */
import { fileURLToPath } from 'node:url'
import { showProgram } from './shown-program.ts'
import type { ShownProgram } from './shown-program.ts'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

export type ShownServer = ShownProgram & {
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
  const { child, shown, ended, shows } = showProgram(program, ['serve'], { NODE_ENV: 'test', PORT: '0', ...environment })
  return {
    child,
    shown,
    ended,
    shows,
    async ready() {
      await shows('stdout', /\/docs\n\n(Run this command[\s\S]*\n\n)?$/)
      return shown.stdout
    },
    async stop() {
      child.kill('SIGTERM')
      return (await ended).code
    },
  }
}
