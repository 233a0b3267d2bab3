/** `turnkeep ledger`: adds and lists the entries that change the balance of an owner. The Idempotency-Key makes it safe to repeat `add`. */
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { ownerPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, given, serverCommand, usd } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id', as: 'id' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'kind', path: 'kind' },
  { title: 'amount $', path: 'amount_usd', as: 'usd' },
  { title: 'written off $', path: 'written_off_usd', as: 'usd' },
  { title: 'request id', path: 'request_id', as: 'id' },
  { title: 'note', path: 'note' },
]

type AddOptions = ServerOptions & { note?: string; idempotencyKey?: string }

export function define(group: Command, environment: Environment): void {
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
    )
    .action(async (owner: string, amount: string, { note, idempotencyKey = randomUUID(), ...options }: AddOptions) => {
      const client = createAdminClient(environment, options)
      const path = `${ownerPath(await findId(client, 'owner', owner))}/ledger`
      tell(`Idempotency-Key: ${idempotencyKey}`)
      const call = { body: { amount_usd: amount, ...given({ note }) }, headers: { 'idempotency-key': idempotencyKey } }
      try {
        await printRecord(await client.call('POST', path, call), options)
      } catch (error) {
        if (!(error instanceof CommandFailed) || error.exitCode === 1) throw error
        const repeat = `The entry may have been added. To retry safely, add --idempotency-key ${idempotencyKey}`
        throw new CommandFailed(2, `${error.message}\n${repeat}`)
      }
    })

  serverCommand(group, 'list <owner>', 'List the ledger entries of an owner, newest first', 'ledger list "Acme Ltd" --limit 20')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async (owner: string, options: ServerOptions & { limit?: number }) => {
      const client = createAdminClient(environment, options)
      await printList(client, `${ownerPath(await findId(client, 'owner', owner))}/ledger`, columns, options)
    })
}
