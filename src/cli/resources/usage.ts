/** `turnkeep usage`: shows turns, tokens, charges and latency by hour or day, and totals. All figures come from the API. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import { findFilters, refuseUnknownFilters } from '../admin-api/names.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printRecord, write } from '../terminal/print.ts'
import { Table, terminalWidth } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const figures: Column[] = [
  { title: 'turns', path: 'turns', as: 'number' },
  { title: 'completed', path: 'completed', as: 'number' },
  { title: 'cancelled', path: 'cancelled', as: 'number' },
  { title: 'errors', path: 'errors', as: 'number' },
  { title: 'prompt tokens', path: 'prompt_tokens', as: 'number' },
  { title: 'completion tokens', path: 'completion_tokens', as: 'number' },
  { title: 'charged $', path: 'charged_usd', as: 'usd' },
  { title: 'unpaid $', path: 'unpaid_usd', as: 'usd' },
  { title: 'latency p50', path: 'p50_ms', as: 'ms' },
  { title: 'p95', path: 'p95_ms', as: 'ms' },
  { title: 'first token p50', path: 'p50_first_delta_ms', as: 'ms' },
  { title: 'p95', path: 'p95_first_delta_ms', as: 'ms' },
]

type UsageOptions = ServerOptions & {
  bucket: 'hour' | 'day'
  from?: string
  to?: string
  owner?: string
  agent?: string
  key?: string
  all?: true
}

export function define(command: Command, environment: Environment): void {
  withServerOptions(helpEnd(command, 'usage --bucket day --from 2026-11-01 --owner "Acme Ltd"'))
    .addOption(new Option('--bucket <bucket>', 'Time span of each row, in UTC').choices(['hour', 'day']).default('day'))
    .option('--from <time>', 'Start, such as 2026-11-21 or 2026-11-21T12:00:00Z (default: 30 days ago, or 24 hours ago with --bucket hour)')
    .option('--to <time>', 'End, not included (default: now)')
    .option('--owner <owner>', 'Filter by owner')
    .option('--agent <agent>', 'Filter by agent')
    .option('--key <key>', 'Filter by API key')
    .option('--all', 'Include rows without turns')
    .action(async ({ bucket, from, to, owner, agent, key, all, ...options }: UsageOptions) => {
      const client = createAdminClient(environment, options)
      const filters = await findFilters(client, { owner, agent, key })
      const query = { bucket, from, to, owner_id: filters.owner, agent_id: filters.agent, key_id: filters.key }
      const usage = await client.call('GET', '/usage', { query })
      if (isFields(usage['totals']) && usage['totals']['turns'] === 0) await refuseUnknownFilters(client, filters)
      if (options.json) return printRecord(usage, options)
      const { data, totals } = usage
      if (!Array.isArray(data) || !data.every(isFields) || !isFields(totals))
        throw new CommandFailed(
          2,
          'unexpected response: it is not a usage report. Check that the URL is that of a Turnkeep server of this version.',
        )
      const start: Column = { title: bucket === 'day' ? 'day (UTC)' : 'hour (UTC)', path: 'start' }
      const rows = data
        .filter(({ turns }) => all || turns !== 0)
        .map((row) => ({
          ...row,
          start: String(row['bucket_start'])
            .replace('T', ' ')
            .slice(0, bucket === 'day' ? 10 : 16),
        }))
      const lines = new Table([start, ...figures], terminalWidth()).lines([...rows, { ...totals, start: 'total' }])
      return write(`${[...lines, ...causeLines(totals['errors_by_cause'])].join('\n')}\n`)
    })
}

function causeLines(byCause: unknown): string[] {
  if (!isFields(byCause) || Object.keys(byCause).length === 0) return []
  const causes = Object.entries(byCause).map(([cause, count]) => `${cause} ${String(count)}`)
  return ['', `Errors by cause: ${causes.join(', ')}`]
}
