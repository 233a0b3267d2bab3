/** `turnkeep agent …`: agents and their versions. Every change of a field makes a version; switching on and off does not. */
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
  { title: 'on', path: 'enabled' },
  { title: 'version', path: 'version', as: 'number' },
  { title: 'model', path: 'model' },
  ...prices,
  { title: 'updated (UTC)', path: 'updated_at', as: 'time' },
  { title: 'name', path: 'name' },
]
const versionColumns: Column[] = [
  { title: 'version', path: 'version', as: 'number' },
  { title: 'made (UTC)', path: 'created_at', as: 'time' },
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
      'make an agent; its owner pays for its replies',
      'agent create --owner own_01jd3v9qk8x2m5n7p4r6t8w0ya --name Support --model openai/gpt-5.4-mini --system-prompt-file prompt.txt',
    ).option('--owner <owner-id>', 'who pays'),
  ).action(async ({ owner, ...options }: ServerOptions & AgentFlags & { owner?: string }) => {
    const body = { ...(await readAgentFields(options)), ...given({ owner_id: owner }) }
    await printRecord(await client(options).call('POST', '/agents', { body }), options)
  })

  serverCommand(group, 'list', 'list the agents, newest first', 'agent list')
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action((options: ServerOptions & { limit?: number }) => printList(client(options), '/agents', columns, options))

  serverCommand(group, 'show <agent-id>', 'show an agent with every field', `agent show ${example}`).action(
    async (id: string, options: ServerOptions) => printRecord(await client(options).call('GET', agentPath(id)), options),
  )

  withAgentFlags(
    serverCommand(group, 'update <agent-id>', 'change fields: a new version', `agent update ${example} --model anthropic/claude-haiku-4-5`),
  ).action(async (id: string, options: ServerOptions & AgentFlags) =>
    printRecord(await client(options).call('PATCH', agentPath(id), { body: await readAgentFields(options) }), options),
  )

  for (const [verb, enabled, says] of [
    ['enable', true, 'switch an agent on'],
    ['disable', false, 'switch an agent off: its callers get agent_disabled; running replies finish'],
  ] as const) {
    serverCommand(group, `${verb} <agent-id>`, says, `agent ${verb} ${example}`).action(async (id: string, options: ServerOptions) =>
      printRecord(await client(options).call('PATCH', agentPath(id), { body: { enabled } }), options),
    )
  }

  serverCommand(group, 'delete <agent-id>', 'delete an agent; history and ledger stay', `agent delete ${example}`).action(
    async (id: string, options: ServerOptions) => {
      await client(options).call('DELETE', agentPath(id))
      tell(`Deleted: ${id}`)
    },
  )

  serverCommand(group, 'versions <agent-id>', 'list the versions, newest first', `agent versions ${example}`)
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action((id: string, options: ServerOptions & { limit?: number }) =>
      printList(client(options), `${agentPath(id)}/versions`, versionColumns, options),
    )

  defineToolCommands(group, environment)

  serverCommand(
    group,
    'price <model>',
    'show what an agent on this model is billed by where it is given no price',
    'agent price openai/gpt-5.4-mini',
  ).action(async (model: string, options: ServerOptions) =>
    printRecord(await client(options).call('GET', '/models/price', { query: { model } }), options),
  )

  serverCommand(group, 'rollback <agent-id>', 'make a new version with the content of an old one', `agent rollback ${example} 3`)
    .argument('<version>', 'its number, as versions lists it', wholeNumber)
    .action(async (id: string, version: number, options: ServerOptions) =>
      printRecord(await client(options).call('POST', `${agentPath(id)}/rollback`, { body: { version } }), options),
    )
}
