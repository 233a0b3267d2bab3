/** `turnkeep audit`: lists who changed what, and who read messages (`audit`). */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, helpEnd, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printDownload, printList } from '../terminal/print.ts'
import { shortened } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'author', path: 'author' },
  { title: 'action', path: 'verb' },
  { title: 'type', path: 'noun' },
  { title: 'ID', path: 'subject_id', as: 'id' },
  { title: 'changes', path: 'changes' },
  { title: 'request ID', path: 'request_id', as: 'id' },
]

type AuditOptions = ServerOptions & {
  who?: string
  author?: string
  verb?: string
  noun?: string
  subject?: string
  from?: string
  to?: string
  limit?: number
  csv?: true
}

export function define(command: Command, run: CommandRun): void {
  withServerOptions(helpEnd(command, 'audit --noun agent --from 2026-11-01 --limit 20'))
    .addOption(new Option('--who <who>', 'Filter by kind of author').choices(['admin_token', 'operator', 'token', 'server']))
    .option('--author <id>', 'Filter by operator or token, by its ID')
    .option('--verb <verb>', 'Filter by action, such as change or read')
    .option('--noun <noun>', 'Filter by type, such as agent or conversation')
    .option('--subject <id>', 'Filter by the ID of what was changed or read')
    .option('--from <time>', 'Start, such as 2026-11-21 or 2026-11-21T12:00:00Z')
    .option('--to <time>', 'End, not included')
    .option('--limit <count>', 'Maximum number of entries to list', countFromOne)
    .option('--csv', 'Print every entry as CSV')
    .action(async ({ who, author, verb, noun, subject, from, to, csv, ...options }: AuditOptions) => {
      if (csv && options.json) throw new CommandFailed(2, '--csv and --json are two formats: remove one of them.')
      if (csv && options.limit !== undefined)
        throw new CommandFailed(2, '--csv prints every entry: remove --limit, or use --from and --to.')
      const server = createAdminClient(run.environment, options)
      const query = { who, author_id: author, verb, noun, subject_id: subject, from, to }
      if (csv) return printDownload(run, server.download('/audit', 'text/csv', query))
      await printList(run, server, '/audit', columns, { ...options, query, rowOf })
    })
}

const rowOf = (entry: Fields): Fields => ({
  ...entry,
  author: entry['author_name'] ?? String(entry['who']).replace('_', ' '),
  changes: changesText(entry),
})

/** What changed, in one line: `name: Example → Example Shop, api_key`. Null: nothing. */
function changesText({ fields, changes }: Fields): string | null {
  const values = isFields(changes) ? changes : {}
  const texts = (Array.isArray(fields) ? fields : []).map((field) => {
    const change = values[String(field)]
    if (!isFields(change)) return String(field)
    const { before, after } = change
    return `${String(field)}: ${before === null ? '' : `${valueText(before)} → `}${after === null ? 'none' : valueText(after)}`
  })
  return texts.length > 0 ? texts.join(', ') : null
}

// Enough to recognize a value. `--json` prints the whole.
const maxValue = 40
const valueText = (value: unknown): string => shortened(typeof value === 'object' ? JSON.stringify(value) : value, maxValue)
