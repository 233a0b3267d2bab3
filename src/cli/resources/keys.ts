/** `turnkeep key`: manages the API keys of an agent. A secret is printed once, alone on stdout, so that it can be redirected to a file. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import type { Fields } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { keysPath } from '../admin-api/paths.ts'
import { given, wholeNumber } from '../terminal/command-options.ts'
import { printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'
import { Crud, printShownOnce } from './crud.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'key ID', path: 'key_id', as: 'id' },
  { title: 'permission', path: 'permission' },
  { title: 'limit', path: 'rate_limit.limit', as: 'number' },
  { title: 'window (s)', path: 'rate_limit.window_seconds', as: 'number' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'last used (UTC)', path: 'last_used_at', as: 'time' },
  { title: 'revoked (UTC)', path: 'revoked_at', as: 'time' },
  { title: 'name', path: 'name' },
]

type KeyFields = { name?: string; permission?: string; limit?: number; window?: number; defaultUser?: string; mcp?: boolean }
const secret = ['api_key', 'API key'] as const

export function define(group: Command, run: CommandRun): void {
  const agent = { kind: 'agent', path: '/agents', example: 'Support' } as const
  const keys = new Crud(run, group, { kind: 'key', path: '/keys', columns, example: 'website', of: agent })
  withFields(
    keys.define<KeyFields>(
      'create <agent>',
      'Create an API key and print its secret, once, on stdout',
      'create Support --name website > acme.key',
      async ({ client, argument, options }) => {
        const body = { permission: 'full', ...writeFields(options) }
        const path = keysPath(await findId(client, 'agent', argument))
        await printShownOnce(run, await client.call('POST', path, { body }), ...secret, options)
      },
    ),
  )
  keys.list('List the API keys of an agent, newest first')
  withFields(
    keys.one<KeyFields>(
      'update',
      'Update the name, permission, rate limit or other settings of an API key',
      '--limit 600 --window 60',
      async ({ client, path, options }) => printRecord(run, await client.call('PATCH', path, { body: writeFields(options) }), options),
    ),
  )
  keys.remove('revoke', 'Revoked', 'Revoke an API key permanently, within one second')
  keys
    .one<{ grace: number }>(
      'rotate',
      'Create a new secret for an API key and print it, once, on stdout',
      '--grace 3600 > acme.key',
      async ({ client, path, options: { grace, ...options } }) => {
        const made = await client.call('POST', `${path}/rotate`, { body: { grace_seconds: grace } })
        await printShownOnce(run, made, ...secret, options)
      },
    )
    .option('--grace <seconds>', 'How long the old secret still works', wholeNumber, 0)
}

function withFields(command: Command): Command {
  return command
    .option('--name <name>', 'Name of the API key')
    .addOption(new Option('--permission <permission>', 'Permission of the API key').choices(['full', 'read-only']))
    .option('--limit <requests>', 'Requests per window; requires --window', wholeNumber)
    .option('--window <seconds>', 'Length of the window in seconds; requires --limit', wholeNumber)
    .option('--default-user <id>', 'End user of requests that name none; "" for no default')
    .option('--mcp', 'Allow the key to call the agent as an MCP server (the default)')
    .option('--no-mcp', 'Do not allow the key to call the agent as an MCP server')
}

/** The API refuses a limit without a window, so this does not check it. */
function writeFields({ name, permission, limit, window, defaultUser, mcp }: KeyFields): Fields {
  const rateLimit = limit === undefined && window === undefined ? undefined : given({ limit, window_seconds: window })
  const user = defaultUser === '' ? null : defaultUser
  return given({ name, permission, rate_limit: rateLimit, default_external_user_id: user, mcp })
}
