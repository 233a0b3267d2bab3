/**
 * Reads the API key of a provider from an environment variable, a pipe, or a prompt that does not echo it. It is never a command-line
 * argument, because the list of processes shows those to other users.
 */
import { once } from 'node:events'
import type { CommandRun } from '../command-run.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { readStdin } from '../terminal/stdin.ts'

/** Reads the environment variable `variable`, or stdin if it is undefined. Throws CommandFailed with code 2 if there is no secret. */
export async function readSecret(run: CommandRun, variable: string | undefined): Promise<string> {
  if (variable !== undefined) {
    const value = run.environment[variable]
    if (!value) throw new CommandFailed(2, `the environment variable ${variable} is not set`)
    return value
  }
  const text = (run.stdin.isTTY ? await typed(run, 'API key (hidden): ') : (await readStdin(run)).toString()).trim()
  if (text === '') throw new CommandFailed(2, 'no API key: enter it at the prompt, pipe it to stdin, or use --api-key-env')
  return text
}

async function typed({ stdin, stderr }: CommandRun, question: string): Promise<string> {
  stderr.write(question)
  stdin.setRawMode?.(true)
  stdin.setEncoding('utf8').resume()
  try {
    for (let text = ''; ;) {
      const [piece] = (await once(stdin, 'data')) as [string]
      for (const character of piece) {
        if (character === '\r' || character === '\n') return text
        // Ctrl-C and Ctrl-D.
        if (character === '\u0003' || character === '\u0004') throw new CommandFailed(2, 'canceled')
        text = character === '\u007f' || character === '\b' ? text.slice(0, -1) : text + character
      }
    }
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
    stderr.write('\n')
  }
}
