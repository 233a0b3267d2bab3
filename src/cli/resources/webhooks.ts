/** `turnkeep webhook`: manages webhooks, by ID, URL or description. A secret is printed once, alone on stdout. */
import { Option } from 'commander'
import type { Command } from 'commander'
import { deliveryStates } from '../../resources/delivery.ts'
import { webhookFields } from '../../resources/webhook.ts'
import type { CommandRun } from '../command-run.ts'
import { countFromOne, given, wholeNumber } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'
import { Crud, bodyOf, printShownOnce, withFields } from './crud.ts'

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

const example = 'https://shop.example/turnkeep'
const secret = ['secret', 'Signing secret'] as const

export function define(group: Command, run: CommandRun): void {
  const webhooks = new Crud(run, group, { kind: 'webhook', path: '/webhooks', columns, example })
  withFields(
    webhooks.define<Record<string, unknown>>(
      'create <url>',
      'Create a webhook and print its signing secret, once, on stdout',
      `create ${example} --event turn.completed turn.failed > webhook.secret`,
      async ({ client, argument: url, options }) => {
        const body = { events: ['*'], ...(await bodyOf(client, webhookFields, 'create', options)), url }
        await printShownOnce(run, await client.call('POST', '/webhooks', { body }), ...secret, options)
      },
    ),
    webhookFields,
    'create',
  )
  webhooks.list('List webhooks, newest first')
  webhooks.show('Show a webhook, by ID, URL or description')
  webhooks.update(webhookFields, 'Update a webhook, or enable it again', '--enabled')
  webhooks.remove('delete', 'Deleted', 'Delete a webhook; what is pending is not sent')
  defineDeliveries(webhooks, run)
}

function defineDeliveries(webhooks: Crud, run: CommandRun): void {
  webhooks
    .one<{ grace?: number }>(
      'rotate-secret',
      'Create a new signing secret and print it, once, on stdout',
      '--grace 3600 > webhook.secret',
      async ({ client, path, options }) => {
        const body = given({ grace_seconds: options.grace })
        await printShownOnce(run, await client.call('POST', `${path}/rotate-secret`, { body }), ...secret, options)
      },
    )
    .option('--grace <seconds>', 'How long the old secret signs as well (default: a day)', wholeNumber)

  webhooks.one('test', 'Send a test event; exit with 1 if it fails', '', async ({ client, path, options }) => {
    const result = await client.call('POST', `${path}/test`)
    await printRecord(run, result, options)
    if (result['ok'] !== true) run.exitCode = 1
  })

  webhooks
    .one<{ limit?: number; status?: string }>(
      'deliveries',
      'List the deliveries of a webhook, newest first',
      '--status failed',
      ({ client, path, options: { status, ...options } }) =>
        printList(run, client, `${path}/deliveries`, deliveryColumns, { ...options, query: { status } }),
    )
    .addOption(new Option('--status <status>', 'Filter by status').choices(deliveryStates))
    .option('--limit <count>', 'Maximum number of results', countFromOne)

  webhooks.one(
    'retry <delivery>',
    'Send a delivery again, whatever its status',
    'evt_0198c0de-7a3b-7c4d-8e5f-60718293a4b5_turn_completed',
    async ({ client, path, second, options }) =>
      printRecord(run, await client.call('POST', `${path}/deliveries/${encodeURIComponent(second)}/retry`), options),
  )

  webhooks
    .one<{ from: string; to: string }>(
      'replay',
      'Send the events of a range again, with the same IDs',
      '--from 2026-11-21 --to 2026-11-22',
      async ({ client, path, options: { from, to, ...options } }) =>
        printRecord(run, await client.call('POST', `${path}/replay`, { body: { from, to } }), options),
    )
    .requiredOption('--from <time>', 'First time, such as 2026-11-21 or 2026-11-21T09:00:00Z')
    .requiredOption('--to <time>', 'Time after the last one')
}
