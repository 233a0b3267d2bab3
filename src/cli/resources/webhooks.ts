/** `turnkeep webhook`: manages webhooks, by ID, URL or description. A secret is printed once, alone on stdout. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { eventTypes } from '../../event-types.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findGiven, findId } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'url', path: 'url' },
  { title: 'events', path: 'events', as: 'short' },
  { title: 'enabled', path: 'enabled' },
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'description', path: 'description' },
]
const deliveryColumns: Column[] = [
  { title: 'created (UTC)', path: 'created_at', as: 'time' },
  { title: 'status', path: 'status' },
  { title: 'attempts', path: 'attempts', as: 'number' },
  { title: 'next attempt (UTC)', path: 'next_attempt_at', as: 'time' },
  { title: 'last error', path: 'last_error', as: 'short' },
  { title: 'ID', path: 'id', as: 'id' },
]

type WebhookFields = {
  newUrl?: string
  event?: string[]
  owner?: string
  agent?: string
  description?: string
  includeMessages?: boolean
  enabled?: boolean
}

const example = 'https://shop.example/turnkeep'

export function define(group: Command, run: CommandRun): void {
  withFields(
    serverCommand(
      group,
      'create <url>',
      'Create a webhook and print its signing secret, once, on stdout',
      `webhook create ${example} --event turn.completed turn.failed > webhook.secret`,
    ),
  ).action(async (url: string, options: ServerOptions & WebhookFields) => {
    const client = createAdminClient(run.environment, options)
    const body = { events: ['*'], ...(await writeFields(client, options)), url }
    await printSecret(run, await client.call('POST', '/webhooks', { body }), options)
  })

  serverCommand(group, 'list', 'List webhooks, newest first', 'webhook list')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((options: ServerOptions & { limit?: number }) =>
      printList(run, createAdminClient(run.environment, options), '/webhooks', columns, options),
    )

  serverCommand(group, 'show <webhook>', 'Show a webhook, by ID, URL or description', `webhook show ${example}`).action(
    async (webhook: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('GET', await findPath(client, webhook)), options)
    },
  )

  withFields(
    serverCommand(group, 'update <webhook>', 'Update a webhook, or enable it again', `webhook update ${example} --enabled`)
      .option('--new-url <url>', 'New URL')
      .option('--enabled', 'Send events again')
      .option('--no-enabled', 'Send and record no events'),
  ).action(async (webhook: string, options: ServerOptions & WebhookFields) => {
    const client = createAdminClient(run.environment, options)
    const body = { ...(await writeFields(client, options)), ...given({ url: options.newUrl, enabled: options.enabled }) }
    await printRecord(run, await client.call('PATCH', await findPath(client, webhook), { body }), options)
  })

  serverCommand(group, 'delete <webhook>', 'Delete a webhook; what is pending is not sent', `webhook delete ${example}`).action(
    async (webhook: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      await client.call('DELETE', await findPath(client, webhook))
      tell(run, `Deleted webhook ${escapeForTerminal(webhook)}`)
    },
  )
  defineDeliveries(group, run)
}

function defineDeliveries(group: Command, run: CommandRun): void {
  serverCommand(
    group,
    'rotate-secret <webhook>',
    'Create a new signing secret and print it, once, on stdout',
    `webhook rotate-secret ${example} --grace 3600 > webhook.secret`,
  )
    .option('--grace <seconds>', 'How long the old secret signs as well (default: a day)', wholeNumber)
    .action(async (webhook: string, { grace, ...options }: ServerOptions & { grace?: number }) => {
      const client = createAdminClient(run.environment, options)
      const body = given({ grace_seconds: grace })
      await printSecret(run, await client.call('POST', `${await findPath(client, webhook)}/rotate-secret`, { body }), options)
    })

  serverCommand(group, 'test <webhook>', 'Send a test event; exit with 1 if it fails', `webhook test ${example}`).action(
    async (webhook: string, options: ServerOptions) => {
      const client = createAdminClient(run.environment, options)
      const result = await client.call('POST', `${await findPath(client, webhook)}/test`)
      await printRecord(run, result, options)
      if (result['ok'] !== true) run.exitCode = 1
    },
  )

  serverCommand(
    group,
    'deliveries <webhook>',
    'List the deliveries of a webhook, newest first',
    `webhook deliveries ${example} --status failed`,
  )
    .addOption(new Option('--status <status>', 'Filter by status').choices(['pending', 'delivered', 'failed']))
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async (webhook: string, { status, ...options }: ServerOptions & { limit?: number; status?: string }) => {
      const client = createAdminClient(run.environment, options)
      await printList(run, client, `${await findPath(client, webhook)}/deliveries`, deliveryColumns, { ...options, query: { status } })
    })

  serverCommand(
    group,
    'retry <webhook> <delivery>',
    'Send a delivery again, whatever its status',
    `webhook retry ${example} evt_0198c0de-7a3b-7c4d-8e5f-60718293a4b5_turn_completed`,
  ).action(async (webhook: string, delivery: string, options: ServerOptions) => {
    const client = createAdminClient(run.environment, options)
    const path = `${await findPath(client, webhook)}/deliveries/${encodeURIComponent(delivery)}/retry`
    await printRecord(run, await client.call('POST', path), options)
  })

  serverCommand(
    group,
    'replay <webhook>',
    'Send the events of a range again, with the same IDs',
    `webhook replay ${example} --from 2026-11-21 --to 2026-11-22`,
  )
    .requiredOption('--from <time>', 'First time, such as 2026-11-21 or 2026-11-21T09:00:00Z')
    .requiredOption('--to <time>', 'Time after the last one')
    .action(async (webhook: string, { from, to, ...options }: ServerOptions & { from: string; to: string }) => {
      const client = createAdminClient(run.environment, options)
      await printRecord(run, await client.call('POST', `${await findPath(client, webhook)}/replay`, { body: { from, to } }), options)
    })
}

function withFields(command: Command): Command {
  return command
    .addOption(new Option('--event <types...>', 'Events to send (default: all)').choices(['*', ...eventTypes]))
    .option('--owner <owner>', 'Only events of this owner')
    .option('--agent <agent>', 'Only events of this agent')
    .option('--description <text>', 'Description')
    .option('--include-messages', 'Send messages and comments of end users, too')
    .option('--no-include-messages', 'Send IDs, states and usage only')
}

async function writeFields(client: AdminClient, { event, owner, agent, description, includeMessages }: WebhookFields): Promise<Fields> {
  return given({
    events: event,
    owner_id: await findGiven(client, 'owner', owner),
    agent_id: await findGiven(client, 'agent', agent),
    description,
    include_messages: includeMessages,
  })
}

/** Prints the secret on stdout and the other fields on stderr, or with --json everything on stdout. */
async function printSecret(run: CommandRun, webhook: Fields, options: ServerOptions): Promise<void> {
  if (options.json) return printRecord(run, webhook, options)
  const { secret, ...rest } = webhook
  for (const line of recordLines(rest)) tell(run, line)
  tell(run, 'Signing secret (shown only once):')
  return write(run, `${String(secret)}\n`)
}

const findPath = async (client: AdminClient, webhook: string): Promise<string> =>
  `/webhooks/${encodeURIComponent(await findId(client, 'webhook', webhook))}`
