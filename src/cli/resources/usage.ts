/** `turnkeep usage`: shows turns, tokens, charges and latency by hour or day, or by group, and totals. All figures come from the API. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields, Query } from '../admin-api/client.ts'
import { findFilters, refuseUnknownFilters } from '../admin-api/names.ts'
import type { Filters } from '../admin-api/names.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd, month, rangeOf, withServerOptions } from '../terminal/command-options.ts'
import type { Month, ServerOptions } from '../terminal/command-options.ts'
import { printDownload, printList, printRecord, tell, write } from '../terminal/print.ts'
import { tableFor } from '../terminal/table.ts'
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

/** Of each grouping. A row of an erased end user shows the conversation. */
const groupColumns: Record<string, Column> = {
  month: { title: 'month', path: 'month' },
  day: { title: 'day (UTC)', path: 'day' },
  owner: { title: 'owner', path: 'owner' },
  agent: { title: 'agent', path: 'agent' },
  api_key: { title: 'API key', path: 'key' },
  end_user: { title: 'end user', path: 'user' },
}
const groupFigures = figures.filter(({ path }) => ['turns', 'prompt_tokens', 'completion_tokens', 'charged_usd'].includes(path))

type UsageOptions = ServerOptions & {
  bucket?: 'hour' | 'day'
  month?: Month
  groupBy?: string
  user?: string
  csv?: true
  from?: string
  to?: string
  owner?: string
  agent?: string
  key?: string
  all?: true
}

export function define(command: Command, run: CommandRun): void {
  withServerOptions(helpEnd(command, 'usage --bucket day --from 2026-11-01 --owner "Acme Ltd"'))
    .addOption(new Option('--bucket <bucket>', 'Time span of each row, in UTC (default: day)').choices(['hour', 'day']))
    .option('--group-by <groups>', `Rows by ${Object.keys(groupColumns).join(', ')}, or several of them separated by commas`)
    .option('--month <month>', 'A UTC month, such as 2026-10, instead of --from and --to', month)
    .option('--from <time>', 'Start, such as 2026-11-21 or 2026-11-21T12:00:00Z (default: 30 days ago, or 24 hours ago with --bucket hour)')
    .option('--to <time>', 'End, not included (default: now)')
    .option('--owner <owner>', 'Filter by owner')
    .option('--agent <agent>', 'Filter by agent')
    .option('--key <key>', 'Filter by API key')
    .option('--user <name>', 'Filter by end user')
    .option('--all', 'Include rows without turns')
    .option('--csv', 'Print every row as CSV; without --group-by, one row for each day')
    .action(async ({ groupBy, csv, owner, agent, key, user, ...options }: UsageOptions) => {
      const { bucket } = options
      if (bucket !== undefined && (csv || groupBy !== undefined))
        throw new CommandFailed(2, '--bucket is not for --csv or --group-by: use --group-by day.')
      if (csv && options.json) throw new CommandFailed(2, '--csv and --json are two formats: remove one of them.')
      const client = createAdminClient(run.environment, options)
      const filters = await findFilters(client, { owner, agent, key })
      const query = { owner_id: filters.owner, agent_id: filters.agent, key_id: filters.key, external_user_id: user, ...rangeOf(options) }
      if (csv) return printDownload(run, client.download('/usage', 'text/csv', { ...query, group_by: groupBy }))
      if (groupBy === undefined) return printBuckets(run, client, query, filters, options)
      return options.json
        ? printList(run, client, '/usage', [], { json: true, query: { ...query, group_by: groupBy } })
        : printGroups(run, client, query, groupBy, filters)
    })
}

async function printBuckets(
  run: CommandRun,
  client: AdminClient,
  range: Query,
  filters: Filters,
  { bucket = 'day', all, json }: UsageOptions,
): Promise<void> {
  const usage = await client.call('GET', '/usage', { query: { ...range, bucket } })
  if (isFields(usage['totals']) && usage['totals']['turns'] === 0) await refuseUnknownFilters(client, filters)
  if (json) return printRecord(run, usage, { json })
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
  const lines = tableFor(run, [start, ...figures]).lines([...rows, { ...totals, start: 'total' }])
  await write(run, `${[...lines, ...causeLines(totals['errors_by_cause'])].join('\n')}\n`)
}

/** Prints page by page, so that many rows do not have to fit in memory, and their sums at the end. */
async function printGroups(run: CommandRun, client: AdminClient, range: Query, groupBy: string, filters: Filters): Promise<void> {
  // The server refuses unknown groups, in its words.
  const shown = groupBy.split(',').flatMap((group) => groupColumns[group] ?? [])
  const table = tableFor(run, [...shown, ...groupFigures])
  const totals = new Map<string, bigint>()
  for await (const { data } of client.pages('/usage', Infinity, { ...range, group_by: groupBy })) {
    for (const row of data) for (const { path } of groupFigures) totals.set(path, (totals.get(path) ?? 0n) + units(row[path]))
    if (data.length > 0) await write(run, `${table.lines(data.map(named)).join('\n')}\n`)
  }
  if (totals.size === 0) {
    await refuseUnknownFilters(client, filters)
    return tell(run, 'No results.')
  }
  const sums = groupFigures.map(({ path, as }) => [path, as === 'usd' ? usdText(totals.get(path)!) : Number(totals.get(path))])
  await write(run, `${table.lines([{ ...Object.fromEntries(sums), [shown[0]!.path]: 'total' }]).join('\n')}\n`)
}

const named = (row: Fields): Fields => ({
  ...row,
  owner: row['owner_name'] ?? row['owner_id'],
  agent: row['agent_name'] ?? row['agent_id'],
  key: row['key_name'] ?? row['key_id'],
  user: row['external_user_id'] ?? `erased ${String(row['erased_conversation_id'])}`,
})

/** A count, or an amount with its 8 decimal places, as an integer. */
const units = (figure: unknown): bigint => BigInt(String(figure).replace('.', ''))
const usdText = (amount: bigint): string =>
  String(amount)
    .padStart(9, '0')
    .replace(/(?=.{8}$)/, '.')

function causeLines(byCause: unknown): string[] {
  if (!isFields(byCause) || Object.keys(byCause).length === 0) return []
  const causes = Object.entries(byCause).map(([cause, count]) => `${cause} ${String(count)}`)
  return ['', `Errors by cause: ${causes.join(', ')}`]
}
