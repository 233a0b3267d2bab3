/** `turnkeep operator`: manages the people who sign in to the console, by ID, email address or name. A link is printed once, on stdout. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { withAccess, writeAccess } from './access-options.ts'
import type { Access } from './access-options.ts'
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
  withAccess(
    serverCommand(
      group,
      'invite <email>',
      'Invite an operator and print the link for this person, once, on stdout',
      'operator invite ada@acme.example --name Ada --role viewer --permission conversations',
    ).requiredOption('--name <name>', 'Name of the person'),
    'required',
  ).action(async (email: string, options: ServerOptions & Access & { name: string }) => {
    const client = createAdminClient(run.environment, options)
    const body = { email, name: options.name, ...(await writeAccess(client, options)) }
    await printLink(run, await client.call('POST', '/operators', { body }), options)
  })

  serverCommand(group, 'list', 'List operators, newest first', 'operator list')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(run, createAdminClient(run.environment, options), '/operators', columns, options),
    )

  serverCommand(group, 'show <operator>', 'Show an operator', 'operator show ada@acme.example').action(
    async (operator: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('GET', await findPath(client, operator)), options)
    },
  )

  withAccess(
    serverCommand(
      group,
      'update <operator>',
      'Change what an operator may do, which ends its sessions, or rename it',
      'operator update ada@acme.example --role editor',
    )
      .option('--name <name>', 'New name')
      .option('--no-owner', 'No restriction to an owner')
      .option('--enabled', 'Let the operator sign in again')
      .option('--no-enabled', 'Do not let the operator sign in'),
    'optional',
  ).action(async (operator: string, options: ServerOptions & Omit<Access, 'owner'> & Changes) => {
    const client = createAdminClient(run.environment, options)
    const { owner, name, enabled, ...access } = options
    const restriction = typeof owner === 'string' ? { owner } : {}
    const body = {
      ...(await writeAccess(client, { ...access, ...restriction })),
      ...given({ name, enabled, ...(owner === false ? { owner_id: null } : {}) }),
    }
    await printRecord(run, await client.call('PATCH', await findPath(client, operator), { body }), options)
  })

  serverCommand(
    group,
    'link <operator>',
    'Print a new link with which the operator chooses a password; earlier links stop working',
    'operator link ada@acme.example',
  ).action(async (operator: string, options: ServerOptions) => {
    const client = createAdminClient(run.environment, options)
    await printLink(run, await client.call('POST', `${await findPath(client, operator)}/invite`), options)
  })

  serverCommand(group, 'sign-out <operator>', 'End every session of an operator', 'operator sign-out ada@acme.example').action(
    async (operator: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', `${await findPath(client, operator)}/sessions`)
      tell(run, `Signed out ${escapeForTerminal(operator)} everywhere`)
    },
  )

  serverCommand(group, 'remove <operator>', 'Remove an operator; the audit log keeps the name', 'operator remove ada@acme.example').action(
    async (operator: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', await findPath(client, operator))
      tell(run, `Removed operator ${escapeForTerminal(operator)}`)
    },
  )
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

const findPath = async (client: AdminClient, operator: string): Promise<string> =>
  `/operators/${encodeURIComponent(await findId(client, 'operator', operator))}`
