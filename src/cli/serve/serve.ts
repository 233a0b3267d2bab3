/** `turnkeep serve`: the server itself, of main.ts. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'

const exitCodes = writeExitCodes('ended by a signal, with nothing left running', 'died of a fault', 'could not start')

export function define(command: Command, environment: Environment): void {
  helpEnd(command, 'serve', exitCodes).action(async () => {
    const { serve } = await import('../../main.ts')
    await serve(environment)
  })
}
