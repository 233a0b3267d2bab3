/** `turnkeep key`: manages the API keys of an agent. A secret is printed once, alone on stdout, so that it can be redirected to a file. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { keysPath } from '../admin-api/paths.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'key id', path: 'key_id' },
  { title: 'permission', path: 'permission' },
  { title: 'limit', path: 'rate_limit.limit', as: 'number' },
  { title: 'window (s)', path: 'rate_limit.window_seconds', as: 'number' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'last used (UTC)', path: 'last_used_at', as: 'time' },
  { title: 'revoked (UTC)', path: 'revoked_at', as: 'time' },
  { title: 'name', path: 'name' },
]

type KeyFields = { name?: string; permission?: string; limit?: number; window?: number }
const example = 'key_01jd3v9qk8x2m5n7p4r6t8w0ya'
const keyPath = (id: string): string => `/keys/${encodeURIComponent(id)}`

export function define(group: Command, environment: Environment): void {
  withFields(
    serverCommand(
      group,
      'create <agent-id>',
      'Create an API key and print its secret, once, on stdout',
      'key create agt_01jd3v9qk8x2m5n7p4r6t8w0ya > acme.key',
    ),
  ).action(async (agentId: string, options: ServerOptions & KeyFields) => {
    const body = { permission: 'full', ...writeFields(options) }
    await printSecret(await createAdminClient(environment, options).call('POST', keysPath(agentId), { body }), options)
  })

  serverCommand(group, 'list <agent-id>', 'List the API keys of an agent, newest first', 'key list agt_01jd3v9qk8x2m5n7p4r6t8w0ya')
    .option('--limit <count>', 'Maximum number of results', wholeNumber)
    .action((agentId: string, options: ServerOptions & { limit?: number }) =>
      printList(createAdminClient(environment, options), keysPath(agentId), columns, options),
    )

  withFields(
    serverCommand(
      group,
      'update <key-id>',
      'Update the name, permission or rate limit of an API key',
      `key update ${example} --limit 600 --window 60`,
    ),
  ).action(async (id: string, options: ServerOptions & KeyFields) =>
    printRecord(await createAdminClient(environment, options).call('PATCH', keyPath(id), { body: writeFields(options) }), options),
  )

  serverCommand(group, 'revoke <key-id>', 'Revoke an API key permanently, within one second', `key revoke ${example}`).action(
    async (id: string, options: ServerOptions) => {
      await createAdminClient(environment, options).call('DELETE', keyPath(id))
      tell(`Revoked API key ${id}`)
    },
  )

  serverCommand(
    group,
    'rotate <key-id>',
    'Create a new secret for an API key and print it, once, on stdout',
    `key rotate ${example} --grace 3600 > acme.key`,
  )
    .option('--grace <seconds>', 'How long the old secret still works', wholeNumber, 0)
    .action(async (id: string, { grace, ...options }: ServerOptions & { grace: number }) => {
      const client = createAdminClient(environment, options)
      await printSecret(await client.call('POST', `${keyPath(id)}/rotate`, { body: { grace_seconds: grace } }), options)
    })
}

function withFields(command: Command): Command {
  return command
    .option('--name <name>', 'Name of the API key')
    .addOption(new Option('--permission <permission>', 'Permission of the API key').choices(['full', 'read-only']))
    .option('--limit <requests>', 'Requests per window; requires --window', wholeNumber)
    .option('--window <seconds>', 'Length of the window; requires --limit', wholeNumber)
}

/** The API refuses a limit without a window, so this does not check it. */
function writeFields({ name, permission, limit, window }: KeyFields): Fields {
  const rateLimit = limit === undefined && window === undefined ? undefined : given({ limit, window_seconds: window })
  return given({ name, permission, rate_limit: rateLimit })
}

/** Prints the secret on stdout and the other fields on stderr, or with --json everything on stdout. */
async function printSecret(key: Fields, options: ServerOptions): Promise<void> {
  if (options.json) return printRecord(key, options)
  const { api_key: secret, ...rest } = key
  for (const line of recordLines(rest)) tell(line)
  tell('API key (shown only once):')
  return write(`${String(secret)}\n`)
}
