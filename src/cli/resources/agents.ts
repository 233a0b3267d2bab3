/** `turnkeep agent`: manages agents and their versions. Every change of a field creates a version, except enabling and disabling. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findGiven } from '../admin-api/names.ts'
import { readAgentFields, refuseMissing, withAgentFlags } from './agent-fields.ts'
import type { AgentFlags } from './agent-fields.ts'
import { defineToolCommands } from './agent-tools.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, given, wholeNumber } from '../terminal/command-options.ts'
import { listOf, printList, printRecord, printTable, write } from '../terminal/print.ts'
import { Crud } from './crud.ts'
import { describeSource } from './price-lines.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const prices: Column[] = [
  { title: 'prompt $/M', path: 'price.prompt_usd_per_million', as: 'usd' },
  { title: 'completion $/M', path: 'price.completion_usd_per_million', as: 'usd' },
]
const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'enabled', path: 'enabled' },
  { title: 'version', path: 'version', as: 'number' },
  { title: 'model', path: 'model' },
  ...prices,
  { title: 'updated (UTC)', path: 'updated_at', as: 'time' },
  { title: 'name', path: 'name' },
]
const priceColumns: Column[] = [
  { title: 'version', path: 'version', as: 'number' },
  { title: 'since (UTC)', path: 'created_at', as: 'time' },
  ...prices,
  { title: 'cached prompt $/M', path: 'price.cached_prompt_usd_per_million', as: 'usd' },
  { title: 'cache write $/M', path: 'price.cache_write_usd_per_million', as: 'usd' },
  { title: 'source', path: 'source' },
]
const versionColumns: Column[] = [
  { title: 'version', path: 'version', as: 'number' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'model', path: 'model' },
  ...prices,
  { title: 'name', path: 'name' },
]

export function define(group: Command, run: CommandRun): void {
  const agents = new Crud(run, group, { kind: 'agent', path: '/agents', columns, example: 'Support' })
  withAgentFlags(
    agents
      .define<AgentFlags & { owner?: string }>(
        'create',
        'Create an agent for an owner, who pays for its replies',
        'create --owner "Acme Ltd" --name Support --model openai/gpt-5.4-mini --system-prompt-file prompt.txt',
        async ({ client, options: { owner, ...options } }) => {
          const fields = await readAgentFields(run, options)
          refuseMissing({ ...fields, ...given({ owner_id: owner }) })
          await refuseBareModel(client, fields)
          const body = { ...fields, ...given({ owner_id: await findGiven(client, 'owner', owner) }) }
          await printRecord(run, await client.call('POST', '/agents', { body }), options)
        },
      )
      .option('--owner <owner>', 'Owner who pays for the replies (required)'),
    true,
  )
  agents.list('List agents, newest first')
  agents.one('show', 'Show all fields of an agent, and its prices', '', async ({ client, path, options }) => {
    await printRecord(run, await client.call('GET', path), options)
    if (!options.json) await printPrices(run, client, path)
  })
  withAgentFlags(
    agents.one<AgentFlags>(
      'update',
      'Update an agent, which creates a new version',
      '--model anthropic/claude-haiku-4-5',
      async ({ client, path, options }) => {
        const body = await readAgentFields(run, options)
        await refuseBareModel(client, body)
        await printRecord(run, await client.call('PATCH', path, { body }), options)
      },
    ),
    false,
  )
  for (const [verb, enabled, says] of [
    ['enable', true, 'Enable an agent'],
    ['disable', false, 'Disable an agent: callers get agent_disabled, running turns finish'],
  ] as const) {
    agents.one(verb, says, '', async ({ client, path, options }) =>
      printRecord(run, await client.call('PATCH', path, { body: { enabled } }), options),
    )
  }
  agents.remove('delete', 'Deleted', 'Delete an agent; its conversations and ledger entries are kept')
  agents
    .one<{ limit?: number }>('versions', 'List the versions of an agent, newest first', '', ({ client, path, options }) =>
      printList(run, client, `${path}/versions`, versionColumns, options),
    )
    .option('--limit <count>', 'Maximum number of results', countFromOne)
  defineToolCommands(group, run)
  agents.define(
    'price <model>',
    'Show the default price of a model',
    'price openai/gpt-5.4-mini',
    async ({ client, argument: model, options }) =>
      printRecord(run, await client.call('GET', '/models/price', { query: { model } }), options),
  )
  agents
    .one('rollback', 'Create a new version with the content of an old one', '3', async ({ client, path, second, options }) =>
      printRecord(run, await client.call('POST', `${path}/rollback`, { body: { version: Number(second) } }), options),
    )
    .argument('<version>', 'Version number, as listed by "agent versions"', wholeNumber)
}

/** The newest prices of an agent, with the version in which each became that of new turns. */
async function printPrices(run: CommandRun, server: AdminClient, path: string): Promise<void> {
  const { data } = await server.call('GET', `${path}/prices`, { query: { limit: String(maxPrices) } })
  const rows = listOf({ data }).map((row) => ({ ...row, source: sourceOf(row['price_source']) }))
  await write(run, `\nPrices, newest first${rows.length === maxPrices ? ` (the newest ${maxPrices})` : ''}:\n`)
  await printTable(run, priceColumns, rows, 'No prices.')
}

// Older ones are in the API.
const maxPrices = 20

const sourceOf = (source: unknown): string =>
  isFields(source)
    ? describeSource({ from: String(source['from']), list: textOrNull(source['list']), date: textOrNull(source['date']) }).slice(2)
    : '-'
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

// Enough to recognize the intended one.
const maxSuggestions = 3

/** A model without its provider is the most common mistake, and only the server knows the providers. Throws CommandFailed with code 2. */
async function refuseBareModel(server: AdminClient, { model }: Fields): Promise<void> {
  if (typeof model !== 'string' || model.includes('/')) return
  const names: string[] = []
  for await (const { data } of server.pages('/providers', maxSuggestions)) names.push(...data.map(({ name }) => String(name)))
  const meant = names.map((name) => escapeForTerminal(`${name}/${model}`))
  const hint =
    meant.length === 0
      ? 'such as openai/gpt-5.4-mini. To create a provider: npx --no-install turnkeep provider create --help'
      : `such as ${meant.join(' or ')}`
  throw new CommandFailed(
    2,
    `the model ${escapeForTerminal(model)} names no provider: a model is the name of a provider, a slash and the ID of a model, ${hint}`,
  )
}
