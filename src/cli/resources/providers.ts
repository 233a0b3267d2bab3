/** `turnkeep provider …`: where models come from. A provider is named by its id or its name; its API key never stands in an argument. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell } from '../terminal/print.ts'
import { readSecret } from './secret-input.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'name', path: 'name' },
  { title: 'kind', path: 'kind' },
  { title: 'base URL', path: 'base_url' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
]

type CreateOptions = ServerOptions & { kind: string; baseUrl?: string; apiKeyEnv?: string }
type UpdateOptions = ServerOptions & { name?: string; baseUrl?: string; apiKeyEnv?: string; apiKeyStdin?: true }

export function define(group: Command, environment: Environment): void {
  serverCommand(
    group,
    'create <name>',
    'make a provider; its API key is read from stdin, or asked for',
    'provider create openai --kind openai --api-key-env OPENAI_API_KEY',
  )
    .addOption(
      new Option('--kind <kind>', 'whose API it speaks')
        .choices(['openai', 'anthropic', 'google', 'openai-compatible'])
        .makeOptionMandatory(),
    )
    .option('--base-url <address>', 'its address; needed for openai-compatible, as http://127.0.0.1:11434/v1')
    .option('--api-key-env <variable>', 'the environment variable that holds the API key')
    .action(async (name: string, { kind, baseUrl, apiKeyEnv, ...options }: CreateOptions) => {
      const client = createAdminClient(environment, options)
      const body = { name, kind, ...given({ base_url: baseUrl }), api_key: await readSecret(environment, apiKeyEnv) }
      await printRecord(await client.call('POST', '/providers', { body }), options)
    })

  serverCommand(group, 'list', 'list the providers, newest first', 'provider list')
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(createAdminClient(environment, options), '/providers', columns, options),
    )

  serverCommand(group, 'show <provider>', 'show a provider, by id or name', 'provider show openai').action(
    async (provider: string, options: ServerOptions) => {
      const client = createAdminClient(environment, options)
      await printRecord(await client.call('GET', await findPath(client, provider)), options)
    },
  )

  serverCommand(group, 'update <provider>', 'change name, address or API key', 'provider update openai --api-key-env NEW_OPENAI_KEY')
    .option('--name <name>', 'another name; refused while an agent uses it')
    .option('--base-url <address>', 'another address')
    .option('--api-key-env <variable>', 'the environment variable that holds the new API key')
    .option('--api-key-stdin', 'read the new API key from stdin, or ask for it')
    .action(async (provider: string, { name, baseUrl, apiKeyEnv, apiKeyStdin, ...options }: UpdateOptions) => {
      const client = createAdminClient(environment, options)
      const path = await findPath(client, provider)
      const apiKey = apiKeyStdin || apiKeyEnv !== undefined ? await readSecret(environment, apiKeyEnv) : undefined
      await printRecord(await client.call('PATCH', path, { body: given({ name, base_url: baseUrl, api_key: apiKey }) }), options)
    })

  serverCommand(group, 'delete <provider>', 'delete a provider; refused while an agent uses it', 'provider delete openai').action(
    async (provider: string, options: ServerOptions) => {
      const client = createAdminClient(environment, options)
      await client.call('DELETE', await findPath(client, provider))
      tell(`Deleted: ${provider}`)
    },
  )

  serverCommand(group, 'test <provider>', 'make one tiny call; exit 1 when it fails', 'provider test openai --model gpt-5.4-mini')
    .option('--model <id>', 'the model to call; default: one that an agent uses, or that the provider lists')
    .action(async (provider: string, { model, ...options }: ServerOptions & { model?: string }) => {
      const client = createAdminClient(environment, options)
      const result = await client.call('POST', `${await findPath(client, provider)}/test`, { body: given({ model }) })
      await printRecord(result, options)
      if (result['ok'] !== true) process.exitCode = 1
    })
}

/** A name is looked up; what is not found as one is left to the API as an id. */
async function findPath(client: AdminClient, provider: string): Promise<string> {
  if (provider.startsWith('prv_')) return `/providers/${encodeURIComponent(provider)}`
  for await (const page of client.pages('/providers')) {
    const found = page.data.find(({ name }) => name === provider)
    if (found) return `/providers/${encodeURIComponent(String(found['id']))}`
  }
  throw new CommandFailed(1, `there is no provider named ${provider}; npx turnkeep provider list shows them`)
}
