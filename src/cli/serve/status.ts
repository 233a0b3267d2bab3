/** `turnkeep status`: the state of the running server. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { helpEnd, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printRecord } from '../terminal/print.ts'

export function define(command: Command, run: CommandRun): void {
  withServerOptions(helpEnd(command, 'status')).action(async (options: ServerOptions) =>
    printRecord(run, await createAdminClient(run.environment, options).call('GET', '/status'), options),
  )
}
