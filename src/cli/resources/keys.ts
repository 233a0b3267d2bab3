/** `turnkeep key`: manages the API keys of an agent. A secret is printed once, alone on stdout, so that it can be redirected to a file. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { apiKeyFields } from '../../resources/api-key.ts'
import { findId } from '../admin-api/names.ts'
import { keysPath } from '../admin-api/paths.ts'
import { wholeNumber } from '../terminal/command-options.ts'
import type { Column } from '../terminal/table.ts'
import { Crud, bodyOf, printShownOnce, withFields } from './crud.ts'

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

const secret = ['api_key', 'API key'] as const

export function define(group: Command, run: CommandRun): void {
  const agent = { kind: 'agent', path: '/agents', example: 'Support' } as const
  const keys = new Crud(run, group, { kind: 'key', path: '/keys', columns, example: 'website', of: agent })
  withFields(
    keys.define<Record<string, unknown>>(
      'create <agent>',
      'Create an API key and print its secret, once, on stdout',
      'create Support --name website > acme.key',
      async ({ client, argument, options }) => {
        const body = { permission: 'full', ...(await bodyOf(client, apiKeyFields, 'create', options)) }
        const path = keysPath(await findId(client, 'agent', argument))
        await printShownOnce(run, await client.call('POST', path, { body }), ...secret, options)
      },
    ),
    apiKeyFields,
    'create',
  )
  keys.list('List the API keys of an agent, newest first')
  keys.update(apiKeyFields, 'Update the name, permission, rate limit or other settings of an API key', '--limit 600 --window 60')
  keys.remove('revoke', 'Revoked', 'Revoke an API key permanently, within one second')
  keys
    .one<{ grace: number }>(
      'rotate',
      'Create a new secret for an API key and print it, once, on stdout',
      '--grace 3600 > acme.key',
      async ({ client, path, options: { grace, ...options } }) => {
        const made = await client.call('POST', `${path}/rotate`, { body: { grace_seconds: grace } })
        await printShownOnce(run, made, ...secret, options)
      },
    )
    .option('--grace <seconds>', 'How long the old secret still works', wholeNumber, 0)
}
