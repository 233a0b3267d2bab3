/** `turnkeep token`: manages tokens of the admin API for programs, by ID or name. A token is printed once, alone on stdout. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { withAccess, writeAccess } from './access-options.ts'
import type { Access } from './access-options.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'role', path: 'role' },
  { title: 'owner', path: 'owner_id', as: 'id' },
  { title: 'agent', path: 'agent_id', as: 'id' },
  { title: 'expires (UTC)', path: 'expires_at', as: 'time' },
  { title: 'revoked (UTC)', path: 'revoked_at', as: 'time' },
  { title: 'last used (UTC)', path: 'last_used_at', as: 'time' },
  { title: 'name', path: 'name' },
]

export function define(group: Command, run: CommandRun): void {
  withAccess(
    serverCommand(
      group,
      'create <name>',
      'Create a token for a program and print it, once, on stdout',
      'token create CI --role editor --expires 2027-11-26 > ci.token',
    )
      .option('--agent <agent>', 'Only this agent, by ID or name')
      .option('--expires <time>', 'A date, or a time with a zone (default: never)'),
    'required',
  ).action(async (name: string, options: ServerOptions & Access & { agent?: string; expires?: string }) => {
    const client = createAdminClient(run.environment, options)
    const agentId = options.agent === undefined ? undefined : await findId(client, 'agent', options.agent)
    const body = { name, ...(await writeAccess(client, options)), ...given({ agent_id: agentId, expires_at: options.expires }) }
    const made = await client.call('POST', '/tokens', { body })
    if (options.json) return printRecord(run, made, options)
    const { token, ...rest } = made
    for (const line of recordLines(rest)) tell(run, line)
    tell(run, 'Token (shown only once):')
    return write(run, `${String(token)}\n`)
  })

  serverCommand(group, 'list', 'List tokens for programs, newest first, also revoked ones', 'token list')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(run, createAdminClient(run.environment, options), '/tokens', columns, options),
    )

  serverCommand(group, 'show <token>', 'Show a token for programs, by ID or name', 'token show CI').action(
    async (token: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('GET', await findPath(client, token)), options)
    },
  )

  serverCommand(group, 'revoke <token>', 'Revoke a token for programs; it stops working immediately', 'token revoke CI').action(
    async (token: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', await findPath(client, token))
      tell(run, `Revoked token ${escapeForTerminal(token)}`)
    },
  )
}

const findPath = async (client: AdminClient, token: string): Promise<string> =>
  `/tokens/${encodeURIComponent(await findId(client, 'token', token))}`
