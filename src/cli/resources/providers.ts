/** `turnkeep provider`: manages model providers, by ID or name. The API key of a provider is never a command-line argument. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { providerKinds } from '../../provider-kinds.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell } from '../terminal/print.ts'
import { readSecret } from './secret-input.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'name', path: 'name' },
  { title: 'kind', path: 'kind' },
  { title: 'base URL', path: 'base_url' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
]

type CreateOptions = ServerOptions & { kind: string; baseUrl?: string; apiKeyEnv?: string }
type UpdateOptions = ServerOptions & { name?: string; baseUrl?: string; apiKeyEnv?: string; apiKeyStdin?: true }

export function define(group: Command, run: CommandRun): void {
  serverCommand(
    group,
    'create <name>',
    'Create a provider; its API key is read from stdin or a prompt',
    'provider create openai --kind openai --api-key-env OPENAI_API_KEY',
  )
    .addOption(new Option('--kind <kind>', 'API of the provider').choices(providerKinds).makeOptionMandatory())
    .option('--base-url <url>', 'Base URL, such as http://127.0.0.1:11434/v1; required for openai-compatible')
    .option('--api-key-env <variable>', 'Environment variable that contains the API key')
    .action(async (name: string, { kind, baseUrl, apiKeyEnv, ...options }: CreateOptions) => {
      const client = createAdminClient(run.environment, options)
      const body = { name, kind, ...given({ base_url: baseUrl }), api_key: await readSecret(run, apiKeyEnv) }
      await printRecord(run, await client.call('POST', '/providers', { body }), options)
    })

  serverCommand(group, 'list', 'List providers, newest first', 'provider list')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(run, createAdminClient(run.environment, options), '/providers', columns, options),
    )

  serverCommand(group, 'show <provider>', 'Show a provider, by ID or name', 'provider show openai').action(
    async (provider: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('GET', await findPath(client, provider)), options)
    },
  )

  serverCommand(
    group,
    'update <provider>',
    'Update the name, base URL or API key of a provider',
    'provider update openai --api-key-env NEW_OPENAI_KEY',
  )
    .option('--name <name>', 'New name; refused while an agent uses the provider')
    .option('--base-url <url>', 'New base URL; if it is on another server, pass the API key again')
    .option('--api-key-env <variable>', 'Environment variable that contains the new API key')
    .option('--api-key-stdin', 'Read the new API key from stdin or a prompt')
    .action(async (provider: string, { name, baseUrl, apiKeyEnv, apiKeyStdin, ...options }: UpdateOptions) => {
      const client = createAdminClient(run.environment, options)
      const path = await findPath(client, provider)
      const apiKey = apiKeyStdin || apiKeyEnv !== undefined ? await readSecret(run, apiKeyEnv) : undefined
      await printRecord(run, await client.call('PATCH', path, { body: given({ name, base_url: baseUrl, api_key: apiKey }) }), options)
    })

  serverCommand(group, 'delete <provider>', 'Delete a provider; refused while an agent uses it', 'provider delete openai').action(
    async (provider: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', await findPath(client, provider))
      tell(run, `Deleted provider ${escapeForTerminal(provider)}`)
    },
  )

  serverCommand(
    group,
    'test <provider>',
    'Make one small call to a provider; exit with 1 if it fails',
    'provider test openai --model gpt-5.4-mini',
  )
    .option('--model <id>', 'Model to call (default: one that an agent uses or that the provider lists)')
    .action(async (provider: string, { model, ...options }: ServerOptions & { model?: string }) => {
      const client = createAdminClient(run.environment, options)
      const result = await client.call('POST', `${await findPath(client, provider)}/test`, { body: given({ model }) })
      await printRecord(run, result, options)
      if (result['ok'] !== true) run.exitCode = 1
    })
}

/** Returns the path of a provider that is given by ID or name. Throws CommandFailed with code 1 if no provider has the name. */
const findPath = async (client: AdminClient, provider: string): Promise<string> =>
  `/providers/${encodeURIComponent(await findId(client, 'provider', provider))}`
