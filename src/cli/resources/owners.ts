/** `turnkeep owner`: manages owners, whose balance pays for the replies of their agents. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'balance $', path: 'balance_usd', as: 'usd' },
  { title: 'held $', path: 'held_usd', as: 'usd' },
  { title: 'available $', path: 'available_usd', as: 'usd' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'name', path: 'name' },
]

export function define(group: Command, environment: Environment): void {
  serverCommand(group, 'create <name>', 'Create an owner', 'owner create "Acme Ltd" --balance 10.00')
    .option('--balance <usd>', 'Opening balance, such as 10.50 (default: 0)')
    .action(async (name: string, { balance, ...options }: ServerOptions & { balance?: string }) => {
      const owner = await createAdminClient(environment, options).call('POST', '/owners', {
        body: { name, ...given({ balance_usd: balance }) },
      })
      await printRecord(owner, options)
    })

  serverCommand(group, 'list', 'List owners, newest first', 'owner list')
    .option('--limit <count>', 'Maximum number of results', wholeNumber)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(createAdminClient(environment, options), '/owners', columns, options),
    )

  serverCommand(group, 'show <owner-id>', 'Show an owner and the balance', 'owner show own_01jd3v9qk8x2m5n7p4r6t8w0ya').action(
    async (id: string, options: ServerOptions) =>
      printRecord(await createAdminClient(environment, options).call('GET', `/owners/${encodeURIComponent(id)}`), options),
  )

  serverCommand(group, 'rename <owner-id> <name>', 'Rename an owner', 'owner rename own_01jd3v9qk8x2m5n7p4r6t8w0ya "Acme GmbH"').action(
    async (id: string, name: string, options: ServerOptions) =>
      printRecord(
        await createAdminClient(environment, options).call('PATCH', `/owners/${encodeURIComponent(id)}`, { body: { name } }),
        options,
      ),
  )
}
