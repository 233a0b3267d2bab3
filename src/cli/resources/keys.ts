/** `turnkeep key`: manages the API keys of an agent. A secret is printed once, alone on stdout, so that it can be redirected to a file. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { keysPath } from '../admin-api/paths.ts'
import { countFromOne, given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { recordLines, escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

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
const example = 'website'
const pathOfKey = async (client: AdminClient, key: string): Promise<string> =>
  `/keys/${encodeURIComponent(await findId(client, 'key', key))}`

export function define(group: Command, run: CommandRun): void {
  withFields(
    serverCommand(
      group,
      'create <agent>',
      'Create an API key and print its secret, once, on stdout',
      'key create Support --name website > acme.key',
    ),
  ).action(async (agent: string, options: ServerOptions & KeyFields) => {
    const client = createAdminClient(run.environment, options)
    const body = { permission: 'full', ...writeFields(options) }
    await printSecret(run, await client.call('POST', keysPath(await findId(client, 'agent', agent)), { body }), options)
  })

  serverCommand(group, 'list <agent>', 'List the API keys of an agent, newest first', 'key list Support')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async (agent: string, options: ServerOptions & { limit?: number }) => {
      const client = createAdminClient(run.environment, options)
      await printList(run, client, keysPath(await findId(client, 'agent', agent)), columns, options)
    })

  withFields(
    serverCommand(
      group,
      'update <key>',
      'Update the name, permission, rate limit or other settings of an API key',
      `key update ${example} --limit 600 --window 60`,
    ),
  ).action(async (key: string, options: ServerOptions & KeyFields) => {
    const client = createAdminClient(run.environment, options)
    await printRecord(run, await client.call('PATCH', await pathOfKey(client, key), { body: writeFields(options) }), options)
  })

  serverCommand(group, 'revoke <key>', 'Revoke an API key permanently, within one second', `key revoke ${example}`).action(
    async (key: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', await pathOfKey(client, key))
      tell(run, `Revoked API key ${escapeForTerminal(key)}`)
    },
  )

  serverCommand(
    group,
    'rotate <key>',
    'Create a new secret for an API key and print it, once, on stdout',
    `key rotate ${example} --grace 3600 > acme.key`,
  )
    .option('--grace <seconds>', 'How long the old secret still works', wholeNumber, 0)
    .action(async (key: string, { grace, ...options }: ServerOptions & { grace: number }) => {
      const client = createAdminClient(run.environment, options)
      await printSecret(
        run,
        await client.call('POST', `${await pathOfKey(client, key)}/rotate`, { body: { grace_seconds: grace } }),
        options,
      )
    })
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

/** Prints the secret on stdout and the other fields on stderr, or with --json everything on stdout. */
async function printSecret(run: CommandRun, key: Fields, options: ServerOptions): Promise<void> {
  if (options.json) return printRecord(run, key, options)
  const { api_key: secret, ...rest } = key
  for (const line of recordLines(rest)) tell(run, line)
  tell(run, 'API key (shown only once):')
  return write(run, `${String(secret)}\n`)
}
