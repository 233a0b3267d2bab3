/** `turnkeep serve`: runs the server of src/main.ts. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'

const exitCodes = writeExitCodes('stopped by a signal after running turns finished', 'crashed', 'could not start')

export function define(command: Command, run: CommandRun): void {
  helpEnd(command, 'serve', exitCodes).action(async () => {
    const { serve } = await import('../../main.ts')
    await serve(run.environment)
  })
}
