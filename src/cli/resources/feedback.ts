/** `turnkeep feedback`: lists what end users thought of turns (`feedback`). */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findFilters, refuseUnknownFilters } from '../admin-api/names.ts'
import { countFromOne, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'changed (UTC)', path: 'updated_at', as: 'time' },
  { title: 'rating', path: 'rating' },
  { title: 'tags', path: 'tags', as: 'short' },
  { title: 'comment', path: 'comment', as: 'short' },
  { title: 'status', path: 'status' },
  { title: 'agent', path: 'agent_id', as: 'id' },
  { title: 'request ID', path: 'request_id', as: 'id' },
]

type ListOptions = ServerOptions & { limit?: number; agent?: string; rating?: string; tag?: string }

export function define(group: Command, run: CommandRun): void {
  serverCommand(group, 'list', 'List the feedback on turns, newest changes first', 'feedback list --rating down --limit 20')
    .option('--agent <agent>', 'Filter by agent')
    .addOption(new Option('--rating <rating>', 'Filter by rating').choices(['up', 'down']))
    .option('--tag <tag>', 'Filter by tag')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async ({ agent, rating, tag, ...options }: ListOptions) => {
      const server = createAdminClient(run.environment, options)
      const filters = await findFilters(server, { agent })
      const query = { agent_id: filters.agent, rating, tag }
      await printList(run, server, '/feedback', columns, { ...options, query, ifEmpty: () => refuseUnknownFilters(server, filters) })
    })
}
