/** `turnkeep status` and `turnkeep audit`: the state of the running server, and the log of changes to it. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { countFromOne, helpEnd, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'actor', path: 'who' },
  { title: 'action', path: 'verb' },
  { title: 'type', path: 'noun' },
  { title: 'id', path: 'subject_id', as: 'id' },
  { title: 'fields', path: 'fields', as: 'short' },
  { title: 'request id', path: 'request_id', as: 'id' },
]

export const status = {
  define(command: Command, environment: Environment): void {
    withServerOptions(helpEnd(command, 'status')).action(async (options: ServerOptions) =>
      printRecord(await createAdminClient(environment, options).call('GET', '/status'), options),
    )
  },
}

export const audit = {
  define(command: Command, environment: Environment): void {
    withServerOptions(helpEnd(command, 'audit --limit 20'))
      .option('--limit <count>', 'Maximum number of entries to list', countFromOne)
      .action((options: ServerOptions & { limit?: number }) =>
        printList(createAdminClient(environment, options), '/audit', columns, options),
      )
  },
}
