/** `turnkeep operator`: manages the people who sign in to the console, by ID, email address or name. A link is printed once, on stdout. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import type { Fields } from '../admin-api/client.ts'
import { given } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { withAccess, writeAccess } from './access-options.ts'
import type { Access } from './access-options.ts'
import { Crud } from './crud.ts'
import { define as defineRecover } from './operator-recover.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'email', path: 'email' },
  { title: 'role', path: 'role' },
  { title: 'state', path: 'state' },
  { title: 'owner', path: 'owner_id', as: 'id' },
  { title: 'last sign-in (UTC)', path: 'last_sign_in_at', as: 'time' },
  { title: 'name', path: 'name' },
]

export function define(group: Command, run: CommandRun): void {
  defineRecover(group, run)
  const operators = new Crud(run, group, { kind: 'operator', path: '/operators', columns, example: 'ada@acme.example' })
  withAccess(
    operators
      .define<Access & { name: string }>(
        'invite <email>',
        'Invite an operator and print the link for this person, once, on stdout',
        'invite ada@acme.example --name Ada --role viewer --permission conversations',
        async ({ client, argument: email, options }) => {
          const body = { email, name: options.name, ...(await writeAccess(client, options)) }
          await printLink(run, await client.call('POST', '/operators', { body }), options)
        },
      )
      .requiredOption('--name <name>', 'Name of the person'),
    'required',
  )
  operators.list('List operators, newest first')
  operators.show('Show an operator')
  withAccess(
    operators
      .one<Omit<Access, 'owner'> & Changes>(
        'update',
        'Change what an operator may do, which ends its sessions, or rename it',
        '--role editor',
        async ({ client, path, options }) => {
          const { owner, name, enabled, ...access } = options
          const restriction = typeof owner === 'string' ? { owner } : {}
          const body = {
            ...(await writeAccess(client, { ...access, ...restriction })),
            ...given({ name, enabled, ...(owner === false ? { owner_id: null } : {}) }),
          }
          await printRecord(run, await client.call('PATCH', path, { body }), options)
        },
      )
      .option('--name <name>', 'New name')
      .option('--no-owner', 'No restriction to an owner')
      .option('--enabled', 'Let the operator sign in again')
      .option('--no-enabled', 'Do not let the operator sign in'),
    'optional',
  )
  operators.one(
    'link',
    'Print a new link with which the operator chooses a password; earlier links stop working',
    '',
    async ({ client, path, options }) => printLink(run, await client.call('POST', `${path}/invite`), options),
  )
  operators.one('sign-out', 'End every session of an operator', '', async ({ client, path, argument }) => {
    await client.call('DELETE', `${path}/sessions`)
    tell(run, `Signed out ${escapeForTerminal(argument)} everywhere`)
  })
  operators.remove('remove', 'Removed', 'Remove an operator; the audit log keeps the name')
}

/** `owner` is false with `--no-owner`. */
type Changes = { name?: string; enabled?: boolean; owner?: string | boolean }

async function printLink(run: CommandRun, answered: Fields, options: ServerOptions): Promise<void> {
  if (options.json) return printRecord(run, answered, options)
  const { invitation_url: url, invitation_expires_at: end, ...operator } = answered
  for (const line of recordLines(operator)) tell(run, line)
  tell(run, `Link for this person (shown only once, until ${String(end)}):`)
  return write(run, `${String(url)}\n`)
}
