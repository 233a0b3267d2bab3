/**
 * A provider's API key, from where no list of processes shows it: an environment variable, a pipe, or typed at a terminal without being
 * shown. Never prints it, never takes it as an argument.
 */
import { once } from 'node:events'
import type { Environment } from '../../config/config.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { readStdin } from '../terminal/stdin.ts'

/** `variable` names the environment variable that holds it; without one stdin is read. Throws CommandFailed with code 2 where there is none. */
export async function readSecret(environment: Environment, variable: string | undefined): Promise<string> {
  if (variable !== undefined) {
    const value = environment[variable]
    if (!value) throw new CommandFailed(2, `the environment variable ${variable} is not set`)
    return value
  }
  const text = (process.stdin.isTTY ? await typed('API key (not shown): ') : (await readStdin()).toString()).trim()
  if (text === '') throw new CommandFailed(2, 'no API key was given: type it, pipe it in, or name a variable with --api-key-env')
  return text
}

async function typed(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.setEncoding('utf8').resume()
  try {
    for (let text = ''; ;) {
      const [piece] = (await once(stdin, 'data')) as [string]
      for (const character of piece) {
        if (character === '\r' || character === '\n') return text
        // Ctrl-C and Ctrl-D.
        if (character === '\u0003' || character === '\u0004') throw new CommandFailed(2, 'given up')
        text = character === '\u007f' || character === '\b' ? text.slice(0, -1) : text + character
      }
    }
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
