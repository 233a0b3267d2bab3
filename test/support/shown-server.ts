/** The server as a person starts it, `turnkeep serve` in a separate process, with everything that it prints. */
import { fileURLToPath } from 'node:url'
import { showProgram } from './shown-program.ts'
import type { ShownProgram } from './shown-program.ts'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

export type ShownServer = ShownProgram & {
  /** Resolves with the lines that every start prints, when all of them have been printed. */
  ready(): Promise<string>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
}

/**
 * Uses a free port of this machine unless `environment` says otherwise. Of this process's environment only PATH is passed on. `program` is
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
