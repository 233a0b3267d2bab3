/** `turnkeep agent`: manages agents and their versions. Every change of a field creates a version, except enabling and disabling. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { readAgentFields, withAgentFlags } from './agent-fields.ts'
import type { AgentFlags } from './agent-fields.ts'
import { defineToolCommands } from './agent-tools.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const prices: Column[] = [
  { title: 'prompt $/M', path: 'price.prompt_usd_per_million', as: 'usd' },
  { title: 'completion $/M', path: 'price.completion_usd_per_million', as: 'usd' },
]
const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'enabled', path: 'enabled' },
  { title: 'version', path: 'version', as: 'number' },
  { title: 'model', path: 'model' },
  ...prices,
  { title: 'updated (UTC)', path: 'updated_at', as: 'time' },
  { title: 'name', path: 'name' },
]
const versionColumns: Column[] = [
  { title: 'version', path: 'version', as: 'number' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'model', path: 'model' },
  ...prices,
  { title: 'name', path: 'name' },
]

const example = 'agt_01jd3v9qk8x2m5n7p4r6t8w0ya'

export function define(group: Command, environment: Environment): void {
  const client = (options: ServerOptions) => createAdminClient(environment, options)

  withAgentFlags(
    serverCommand(
      group,
      'create',
      'Create an agent, whose replies its owner pays for',
      'agent create --owner own_01jd3v9qk8x2m5n7p4r6t8w0ya --name Support --model openai/gpt-5.4-mini --system-prompt-file prompt.txt',
    ).option('--owner <owner-id>', 'Owner who pays for the replies'),
  ).action(async ({ owner, ...options }: ServerOptions & AgentFlags & { owner?: string }) => {
    const body = { ...(await readAgentFields(options)), ...given({ owner_id: owner }) }
    await printRecord(await client(options).call('POST', '/agents', { body }), options)
  })

  serverCommand(group, 'list', 'List agents, newest first', 'agent list')
    .option('--limit <count>', 'Maximum number of results', wholeNumber)
    .action((options: ServerOptions & { limit?: number }) => printList(client(options), '/agents', columns, options))

  serverCommand(group, 'show <agent-id>', 'Show all fields of an agent', `agent show ${example}`).action(
    async (id: string, options: ServerOptions) => printRecord(await client(options).call('GET', agentPath(id)), options),
  )

  withAgentFlags(
    serverCommand(
      group,
      'update <agent-id>',
      'Update an agent, which creates a new version',
      `agent update ${example} --model anthropic/claude-haiku-4-5`,
    ),
  ).action(async (id: string, options: ServerOptions & AgentFlags) =>
    printRecord(await client(options).call('PATCH', agentPath(id), { body: await readAgentFields(options) }), options),
  )

  for (const [verb, enabled, description] of [
    ['enable', true, 'Enable an agent'],
    ['disable', false, 'Disable an agent: callers get agent_disabled, running turns finish'],
  ] as const) {
    serverCommand(group, `${verb} <agent-id>`, description, `agent ${verb} ${example}`).action(async (id: string, options: ServerOptions) =>
      printRecord(await client(options).call('PATCH', agentPath(id), { body: { enabled } }), options),
    )
  }

  serverCommand(
    group,
    'delete <agent-id>',
    'Delete an agent; its conversations and ledger entries are kept',
    `agent delete ${example}`,
  ).action(async (id: string, options: ServerOptions) => {
    await client(options).call('DELETE', agentPath(id))
    tell(`Deleted agent ${id}`)
  })

  serverCommand(group, 'versions <agent-id>', 'List the versions of an agent, newest first', `agent versions ${example}`)
    .option('--limit <count>', 'Maximum number of results', wholeNumber)
    .action((id: string, options: ServerOptions & { limit?: number }) =>
      printList(client(options), `${agentPath(id)}/versions`, versionColumns, options),
    )

  defineToolCommands(group, environment)

  serverCommand(group, 'price <model>', 'Show the default price of a model', 'agent price openai/gpt-5.4-mini').action(
    async (model: string, options: ServerOptions) =>
      printRecord(await client(options).call('GET', '/models/price', { query: { model } }), options),
  )

  serverCommand(group, 'rollback <agent-id>', 'Create a new version with the content of an old one', `agent rollback ${example} 3`)
    .argument('<version>', 'Version number, as listed by "agent versions"', wholeNumber)
    .action(async (id: string, version: number, options: ServerOptions) =>
      printRecord(await client(options).call('POST', `${agentPath(id)}/rollback`, { body: { version } }), options),
    )
}
