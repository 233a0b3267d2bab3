/** `turnkeep ledger`: adds and lists the entries that change the balance of an owner. The Idempotency-Key makes it safe to repeat `add`. */
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { headerOfKey } from '../../../packages/client/src/options.ts'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findFilters, findId, refuseUnknownFilters } from '../admin-api/names.ts'
import { ownerPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, given, keyText, month, rangeOf, serverCommand, usd } from '../terminal/command-options.ts'
import type { Month, ServerOptions } from '../terminal/command-options.ts'
import { printDownload, printList, printRecord, tell } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'kind', path: 'kind' },
  { title: 'amount $', path: 'amount_usd', as: 'usd' },
  { title: 'written off $', path: 'written_off_usd', as: 'usd' },
  { title: 'request ID', path: 'request_id', as: 'id' },
  { title: 'note', path: 'note' },
]

const ownerColumn: Column = { title: 'owner', path: 'owner_id', as: 'id' }

type AddOptions = ServerOptions & { note?: string; idempotencyKey?: string }
type ListOptions = ServerOptions & {
  month?: Month
  from?: string
  to?: string
  agent?: string
  key?: string
  user?: string
  limit?: number
  csv?: true
}

export function define(group: Command, run: CommandRun): void {
  serverCommand(
    group,
    'add <owner>',
    'Add an entry to the balance of an owner; negative amounts debit',
    'ledger add "Acme Ltd" 25.00 --note "Invoice 17"',
  )
    .argument('<usd>', 'Amount in USD; negative to debit', usd)
    .option('--note <text>', 'Note for the entry')
    .option(
      '--idempotency-key <key>',
      'Key of an earlier attempt, to retry it without a second entry (default: a new key, which is printed)',
      keyText,
    )
    .action(async (owner: string, amount: string, { note, idempotencyKey = randomUUID(), ...options }: AddOptions) => {
      const client = createAdminClient(run.environment, options)
      const path = `${ownerPath(await findId(client, 'owner', owner))}/ledger`
      tell(run, `Idempotency-Key: ${idempotencyKey}`)
      const call = { body: { amount_usd: amount, ...given({ note }) }, headers: { 'idempotency-key': headerOfKey(idempotencyKey) } }
      try {
        await printRecord(run, await client.call('POST', path, call), options)
      } catch (error) {
        if (!(error instanceof CommandFailed) || error.exitCode === 1) throw error
        const repeat = `The entry may have been added. To retry safely, add --idempotency-key ${idempotencyKey}`
        throw new CommandFailed(2, `${error.message}\n${repeat}`)
      }
    })

  serverCommand(
    group,
    'list [owner]',
    'List the ledger entries of an owner, or of all owners, newest first',
    'ledger list "Acme Ltd" --month 2026-10 --csv',
  )
    .option('--month <month>', 'Only entries of this UTC month, such as 2026-10', month)
    .option('--from <time>', 'Created at or after this time, such as 2026-11-21 or 2026-11-21T12:00:00Z')
    .option('--to <time>', 'Created before this time')
    .option('--agent <agent>', 'Only charges of this agent')
    .option('--key <key>', 'Only charges of this API key')
    .option('--user <name>', 'Only charges of this end user')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .option('--csv', 'Print every entry as CSV')
    .action(async (owner: string | undefined, { csv, agent, key, user, limit, ...options }: ListOptions) => {
      if (csv && (options.json || limit !== undefined)) throw new CommandFailed(2, '--csv prints every entry: remove --json and --limit.')
      const client = createAdminClient(run.environment, options)
      const filters = await findFilters(client, { owner, agent, key })
      const query = { owner_id: filters.owner, agent_id: filters.agent, key_id: filters.key, external_user_id: user, ...rangeOf(options) }
      if (csv) return printDownload(run, client.download('/ledger', 'text/csv', query))
      const shown = owner === undefined ? [...columns, ownerColumn] : columns
      await printList(run, client, '/ledger', shown, {
        ...options,
        ...given({ limit }),
        query,
        ifEmpty: () => refuseUnknownFilters(client, filters),
      })
    })
}
