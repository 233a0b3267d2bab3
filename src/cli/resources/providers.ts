/** `turnkeep provider`: manages model providers, by ID or name. The API key of a provider is never a command-line argument. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { providerKinds } from '../../provider-kinds.ts'
import { given } from '../terminal/command-options.ts'
import { printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'
import { Crud } from './crud.ts'
import { readSecret } from './secret-input.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'name', path: 'name' },
  { title: 'kind', path: 'kind' },
  { title: 'base URL', path: 'base_url' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
]

export function define(group: Command, run: CommandRun): void {
  const providers = new Crud(run, group, { kind: 'provider', path: '/providers', columns, example: 'openai' })
  providers
    .define<{ kind: string; baseUrl?: string; apiKeyEnv?: string }>(
      'create <name>',
      'Create a provider; its API key is read from stdin or a prompt',
      'create openai --kind openai --api-key-env OPENAI_API_KEY',
      async ({ client, argument: name, options: { kind, baseUrl, apiKeyEnv, ...options } }) => {
        const body = { name, kind, ...given({ base_url: baseUrl }), api_key: await readSecret(run, apiKeyEnv) }
        await printRecord(run, await client.call('POST', '/providers', { body }), options)
      },
    )
    .addOption(new Option('--kind <kind>', 'API of the provider').choices(providerKinds).makeOptionMandatory())
    .option('--base-url <url>', 'Base URL, such as http://127.0.0.1:11434/v1; required for openai-compatible')
    .option('--api-key-env <variable>', 'Environment variable that contains the API key')
  providers.list('List providers, newest first')
  providers.show('Show a provider, by ID or name')
  providers
    .one<{ name?: string; baseUrl?: string; apiKeyEnv?: string; apiKeyStdin?: true }>(
      'update',
      'Update the name, base URL or API key of a provider',
      '--api-key-env NEW_OPENAI_KEY',
      async ({ client, path, options: { name, baseUrl, apiKeyEnv, apiKeyStdin, ...options } }) => {
        const apiKey = apiKeyStdin || apiKeyEnv !== undefined ? await readSecret(run, apiKeyEnv) : undefined
        await printRecord(run, await client.call('PATCH', path, { body: given({ name, base_url: baseUrl, api_key: apiKey }) }), options)
      },
    )
    .option('--name <name>', 'New name; refused while an agent uses the provider')
    .option('--base-url <url>', 'New base URL; if it is on another server, pass the API key again')
    .option('--api-key-env <variable>', 'Environment variable that contains the new API key')
    .option('--api-key-stdin', 'Read the new API key from stdin or a prompt')
  providers.remove('delete', 'Deleted', 'Delete a provider; refused while an agent uses it')
  providers
    .one<{ model?: string }>(
      'test',
      'Make one small call to a provider; exit with 1 if it fails',
      '--model gpt-5.4-mini',
      async ({ client, path, options: { model, ...options } }) => {
        const result = await client.call('POST', `${path}/test`, { body: given({ model }) })
        await printRecord(run, result, options)
        if (result['ok'] !== true) run.exitCode = 1
      },
    )
    .option('--model <id>', 'Model to call (default: one that an agent uses or that the provider lists)')
}
