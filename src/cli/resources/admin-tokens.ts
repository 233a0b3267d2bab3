/** `turnkeep token`: manages tokens of the admin API for programs, by ID or name. A token is printed once, alone on stdout. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { findGiven } from '../admin-api/names.ts'
import { given } from '../terminal/command-options.ts'
import type { Column } from '../terminal/table.ts'
import { withAccess, writeAccess } from './access-options.ts'
import type { Access } from './access-options.ts'
import { Crud, printShownOnce } from './crud.ts'

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
  const tokens = new Crud(run, group, { kind: 'token', path: '/tokens', columns, example: 'CI' })
  withAccess(
    tokens
      .define<Access & { agent?: string; expires?: string }>(
        'create <name>',
        'Create a token for a program and print it, once, on stdout',
        'create CI --role editor --expires 2027-11-26 > ci.token',
        async ({ client, argument: name, options }) => {
          const agentId = await findGiven(client, 'agent', options.agent)
          const body = { name, ...(await writeAccess(client, options)), ...given({ agent_id: agentId, expires_at: options.expires }) }
          await printShownOnce(run, await client.call('POST', '/tokens', { body }), 'token', 'Token', options)
        },
      )
      .option('--agent <agent>', 'Only this agent, by ID or name')
      .option('--expires <time>', 'A date, or a time with a zone (default: never)'),
    'required',
  )
  tokens.list('List tokens for programs, newest first, also revoked ones')
  tokens.show('Show a token for programs, by ID or name')
  tokens.remove('revoke', 'Revoked', 'Revoke a token for programs; it stops working immediately')
}
