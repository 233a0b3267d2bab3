/** `turnkeep end-user`: lists the end users of an agent, shows one, and exports all data of one (`end-users`). */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { pathOfAgent } from '../admin-api/names.ts'
import { countFromOne, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printDownload, printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'end user', path: 'external_user_id' },
  { title: 'spent $', path: 'spent_usd', as: 'usd' },
  { title: 'turns', path: 'turns', as: 'number' },
  { title: 'up', path: 'feedback.up', as: 'number' },
  { title: 'down', path: 'feedback.down', as: 'number' },
  { title: 'last activity (UTC)', path: 'last_activity_at', as: 'time' },
]

type ListOptions = ServerOptions & { sort?: string; window?: string; limit?: number }

export function define(group: Command, run: CommandRun): void {
  const client = (options: ServerOptions) => createAdminClient(run.environment, options)

  serverCommand(
    group,
    'list <agent>',
    'List the end users of an agent, the largest spend first',
    'end-user list Support --window month --limit 20',
  )
    .addOption(new Option('--sort <order>', 'What comes first (default: spend)').choices(['spend', 'last_activity']))
    .addOption(
      new Option('--window <window>', 'The current UTC day or month, or all time (default: month)').choices(['day', 'month', 'total']),
    )
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async (agent: string, { sort, window, ...options }: ListOptions) => {
      const server = client(options)
      await printList(run, server, `${await pathOfAgent(server, agent)}/end-users`, columns, { ...options, query: { sort, window } })
    })

  serverCommand(
    group,
    'show <agent> <end-user>',
    'Show spend, feedback and conversations of an end user',
    'end-user show Support ann',
  ).action(async (agent: string, user: string, options: ServerOptions) => {
    const server = client(options)
    const query = { external_user_id: user }
    await printRecord(run, await server.call('GET', `${await pathOfAgent(server, agent)}/end-users/detail`, { query }), options)
  })

  serverCommand(
    group,
    'export <agent> <end-user>',
    'Print all stored data of an end user, one JSON object per line',
    'end-user export Support ann > ann.ndjson',
  ).action(async (agent: string, user: string, options: ServerOptions) => {
    const server = client(options)
    const query = { external_user_id: user }
    await printDownload(run, server.download(`${await pathOfAgent(server, agent)}/end-users/export`, 'application/x-ndjson', query))
  })
}
