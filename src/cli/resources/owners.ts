/** `turnkeep owner`: manages owners, whose balance pays for the replies of their agents. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { ownerFields } from '../../resources/owner.ts'
import { printRecord, write } from '../terminal/print.ts'
import { tableFor } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { Crud, bodyOf, withFields } from './crud.ts'

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
  const owners = new Crud(run, group, { kind: 'owner', path: '/owners', columns, example: '"Acme Ltd"' })
  withFields(
    owners.define<Record<string, unknown>>(
      'create <name>',
      'Create an owner',
      'create "Acme Ltd" --balance 10.00',
      async ({ client, argument: name, options }) => {
        const body = { name, ...(await bodyOf(client, ownerFields, 'create', options)) }
        await printRecord(run, await client.call('POST', '/owners', { body }), options)
      },
    ),
    ownerFields,
    'create',
  )
  owners.list('List owners, newest first')
  owners.one('show', 'Show an owner, the balance and the turns that hold part of it', '', async ({ client, path, options }) => {
    const owner = await client.call('GET', path)
    if (options.json) return printRecord(run, owner, options)
    const { running_turns: running, ...figures } = owner
    await printRecord(run, figures, options)
    if (Array.isArray(running) && running.length > 0) await write(run, `\n${tableFor(run, holdColumns).lines(running).join('\n')}\n`)
  })
  owners.update(ownerFields, 'Rename an owner, or set the balance below which it is low', '--low-balance 5.00')
  owners.one('rename <name>', 'Rename an owner', '"Acme GmbH"', async ({ client, path, second: name, options }) =>
    printRecord(run, await client.call('PATCH', path, { body: { name } }), options),
  )
}
