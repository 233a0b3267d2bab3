/** `turnkeep owner`: manages owners, whose balance pays for the replies of their agents. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { ownerPath } from '../admin-api/paths.ts'
import { findId } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand, usd } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, write } from '../terminal/print.ts'
import { tableFor } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'balance $', path: 'balance_usd', as: 'usd' },
  { title: 'held $', path: 'held_usd', as: 'usd' },
  { title: 'unpaid $', path: 'unpaid_usd', as: 'usd' },
  { title: 'available $', path: 'available_usd', as: 'usd' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'name', path: 'name' },
]

/** The turns that hold parts of the balance. */
const holdColumns: Column[] = [
  { title: 'running turn', path: 'request_id' },
  { title: 'held $', path: 'held_usd', as: 'usd' },
  { title: 'started (UTC)', path: 'started_at', as: 'time' },
  { title: 'user', path: 'external_user_id', as: 'short' },
]

export function define(group: Command, run: CommandRun): void {
  serverCommand(group, 'create <name>', 'Create an owner', 'owner create "Acme Ltd" --balance 10.00')
    .option('--balance <usd>', 'Opening balance, such as 10.50 (default: 0)', usd)
    .action(async (name: string, { balance, ...options }: ServerOptions & { balance?: string }) => {
      const owner = await createAdminClient(run.environment, options).call('POST', '/owners', {
        body: { name, ...given({ balance_usd: balance }) },
      })
      await printRecord(run, owner, options)
    })

  serverCommand(group, 'list', 'List owners, newest first', 'owner list')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(run, createAdminClient(run.environment, options), '/owners', columns, options),
    )

  const example = 'owner show "Acme Ltd"'
  serverCommand(group, 'show <owner>', 'Show an owner, the balance and the turns that hold part of it', example).action(
    async (name: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      const owner = await client.call('GET', ownerPath(await findId(client, 'owner', name)))
      if (options.json) return printRecord(run, owner, options)
      const { running_turns: running, ...figures } = owner
      await printRecord(run, figures, options)
      if (Array.isArray(running) && running.length > 0) await write(run, `\n${tableFor(run, holdColumns).lines(running).join('\n')}\n`)
    },
  )

  const change = 'Rename an owner, or set the balance below which it is low'
  serverCommand(group, 'update <owner>', change, 'owner update "Acme Ltd" --low-balance 5.00')
    .option('--name <name>', 'New name')
    .option('--low-balance <usd>', 'Report the balance as low when it falls below this (event balance.low)', usd)
    .option('--no-low-balance', 'Do not report a low balance')
    .action(async (owner: string, { name, lowBalance, ...options }: ServerOptions & { name?: string; lowBalance?: string | false }) => {
      const client = createAdminClient(run.environment, options)
      const body = given({ name, low_balance_usd: lowBalance === false ? null : lowBalance })
      await printRecord(run, await client.call('PATCH', ownerPath(await findId(client, 'owner', owner)), { body }), options)
    })

  serverCommand(group, 'rename <owner> <name>', 'Rename an owner', 'owner rename "Acme Ltd" "Acme GmbH"').action(
    async (owner: string, name: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('PATCH', ownerPath(await findId(client, 'owner', owner)), { body: { name } }), options)
    },
  )
}
