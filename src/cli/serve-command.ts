/** `turnkeep serve`: the server itself, of main.ts. */
import type { Command } from 'commander'
import type { Environment } from '../config.ts'
import { helpEnd } from './command-options.ts'

const exitCodes = 'Exit codes: 0 ended by a signal, with nothing left running · 1 died of a fault · 2 could not start.'

export function define(command: Command, environment: Environment): void {
  helpEnd(command, 'serve', exitCodes).action(async () => {
    const { serve } = await import('../main.ts')
    await serve(environment)
  })
}
