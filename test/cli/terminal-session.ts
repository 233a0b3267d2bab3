/** A command at a real terminal, created by util-linux's `script`: what is typed, what is shown, its exit code. 80 columns by 24 lines. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

/** False, or why a test that needs a terminal is skipped. */
export const withoutTerminal = spawnSync('script', ['--version']).error ? 'needs script: apt-get install bsdutils' : false

export type TerminalSession = {
  /**
   * Resolves when the output since the last call contains the text, and returns the output since then; rejects if the command ends without
   * it.
   */
  shows(text: RegExp): Promise<string>
  type(text: string): void
  /** The output from the start, without the escapes that drew it. */
  readonly screen: string
  readonly ended: Promise<number | null>
}

/** Nothing of this process's environment is passed on but its PATH. */
export function openTerminal(args: string[], environment: Record<string, string>): TerminalSession {
  const line = [process.execPath, command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const env = { PATH: process.env['PATH'] ?? '', SHELL: '/bin/sh', TERM: 'xterm', ...environment }
  const child = spawn('script', ['-qec', `stty cols 80 rows 24; exec ${line}`, '/dev/null'], { env, stdio: 'pipe' })
  let drawn = ''
  let seen = 0
  let gone = false
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (drawn += piece))
  const ended = once(child, 'close').then(([code]) => {
    gone = true
    return code as number | null
  })
  return {
    async shows(text) {
      for (;;) {
        const fresh = drawn.slice(seen)
        if (text.test(plain(fresh))) {
          seen = drawn.length
          return plain(fresh)
        }
        if (gone) throw new Error(`it ended without showing ${text}:\n${drawn}`)
        await Promise.race([once(child.stdout, 'data'), ended])
      }
    },
    type: (text) => void child.stdin.write(text),
    get screen() {
      return plain(drawn)
    },
    ended,
  }
}

const plain = (drawn: string): string =>
  drawn
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    .replace(/\u001b\[[?\d;]*[A-Za-z]/g, '')
    .replaceAll('\r', '')
