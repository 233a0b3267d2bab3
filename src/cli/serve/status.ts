/** `turnkeep status` and `turnkeep audit`: how the running service is, and who changed what in it. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { helpEnd, withServerOptions, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'who', path: 'who' },
  { title: 'what', path: 'verb' },
  { title: 'of', path: 'noun' },
  { title: 'id', path: 'subject_id' },
  { title: 'fields', path: 'fields', as: 'short' },
  { title: 'request', path: 'request_id' },
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
      .option('--limit <count>', 'only so many of the newest', wholeNumber)
      .action((options: ServerOptions & { limit?: number }) =>
        printList(createAdminClient(environment, options), '/audit', columns, options),
      )
  },
}
