/** `turnkeep ledger …`: the entries that move an owner's balance. Each is entered once, whatever breaks on the way: it has an Idempotency-Key. */
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'kind', path: 'kind' },
  { title: 'amount $', path: 'amount_usd', as: 'usd' },
  { title: 'written off $', path: 'written_off_usd', as: 'usd' },
  { title: 'request', path: 'request_id' },
  { title: 'note', path: 'note' },
]

type AddOptions = ServerOptions & { note?: string; idempotencyKey?: string }

export function define(group: Command, environment: Environment): void {
  serverCommand(
    group,
    'add <owner-id> <usd>',
    'add to an owner’s balance; a negative amount takes away',
    'ledger add own_01jd3v9qk8x2m5n7p4r6t8w0ya 25.00 --note "Invoice 17"',
  )
    .option('--note <text>', 'what it is for')
    .option('--idempotency-key <key>', 'the key of an earlier try, to repeat it: the entry is made once; default: a new one, shown')
    .action(async (id: string, amount: string, { note, idempotencyKey = randomUUID(), ...options }: AddOptions) => {
      const client = createAdminClient(environment, options)
      tell(`Idempotency-Key: ${idempotencyKey}`)
      const call = { body: { amount_usd: amount, ...given({ note }) }, headers: { 'idempotency-key': idempotencyKey } }
      try {
        await printRecord(await client.call('POST', `/owners/${encodeURIComponent(id)}/ledger`, call), options)
      } catch (error) {
        if (!(error instanceof CommandFailed) || error.exitCode === 1) throw error
        const repeat = `If the request left, the entry may have been made: repeat it with --idempotency-key ${idempotencyKey}`
        throw new CommandFailed(2, `${error.message}\n${repeat}`)
      }
    })

  serverCommand(group, 'list <owner-id>', 'list the entries, newest first', 'ledger list own_01jd3v9qk8x2m5n7p4r6t8w0ya --limit 20')
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action((id: string, options: ServerOptions & { limit?: number }) =>
      printList(createAdminClient(environment, options), `/owners/${encodeURIComponent(id)}/ledger`, columns, options),
    )
}
