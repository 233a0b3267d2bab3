/** `turnkeep limit`: manages spend limits of agents and end users, and shows what is spent under them (`billing.spend-limit`). */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { pathOfAgent } from '../admin-api/names.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { serverCommand, usd } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { jsonText, listOf, printTable, tell, write } from '../terminal/print.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'scope', path: 'scope' },
  { title: 'window', path: 'window' },
  { title: 'used', path: 'used' },
  { title: 'limit $', path: 'limit_usd', as: 'usd' },
  { title: 'spent $', path: 'spent_usd', as: 'usd' },
  { title: 'held $', path: 'held_usd', as: 'usd' },
  { title: 'unpaid $', path: 'unpaid_usd', as: 'usd' },
  { title: 'ends (UTC)', path: 'ends_at', as: 'time' },
  { title: 'of', path: 'subject', as: 'id' },
]
const limitColumns: Column[] = [
  { title: 'scope', path: 'scope' },
  { title: 'window', path: 'window' },
  { title: 'limit $', path: 'usd', as: 'usd' },
]

const scopes = ['end_user', 'api_key', 'agent']
const windows = ['day', 'month', 'total']

type UserOptions = ServerOptions & { user?: string }
type LimitOptions = UserOptions & { scope?: string; window: string }

export function define(group: Command, run: CommandRun): void {
  const user = 'End user whose own limits are meant, instead of those of the agent'

  serverCommand(group, 'list <agent>', 'Show the limits of an agent and what is spent under them', 'limit list Support --user ann')
    .option('--user <end user>', 'Also show the limits that apply to this end user')
    .action(async (agent: string, options: UserOptions) => {
      const server = createAdminClient(run.environment, options)
      const path = await pathOfAgent(server, agent)
      const { spend_limits: ofAgent } = await server.call('GET', path)
      const answer =
        options.user === undefined
          ? await server.call('GET', `${path}/spending`)
          : await server.call('GET', `${path}/end-users/limits`, { query: { external_user_id: options.user } })
      const { spending, ...own } = options.user === undefined ? { spending: answer['data'] } : answer
      if (options.json) return write(run, `${jsonText({ spend_limits: ofAgent, ...own, spending }, 2)}\n`)
      await printTable(run, limitColumns, listOf({ data: own['spend_limits'] ?? ofAgent }), 'No limits.')
      const rows = listOf({ data: spending }).map(rowOf)
      if (rows.length > 0) await write(run, '\n')
      if (rows.length > 0) await printTable(run, columns, rows)
    })

  const example = 'limit set Support --scope end_user --window day --usd 5.00'
  withLimit(serverCommand(group, 'set <agent>', 'Set one limit of an agent, or of one end user with --user', example))
    .requiredOption('--usd <amount>', 'What may be spent in the window, such as 5.00', usd)
    .option('--user <end user>', user)
    .action((agent: string, { usd: amount, ...options }: LimitOptions & { usd: string }) =>
      change(agent, options, (others, limit) => [...others, { ...limit, usd: amount }]),
    )

  withLimit(
    serverCommand(
      group,
      'remove <agent>',
      'Remove one limit of an agent, or of one end user with --user',
      'limit remove Support --scope agent --window month',
    ),
  )
    .option('--user <end user>', user)
    .action((agent: string, options: LimitOptions) => change(agent, options, (others) => others))

  serverCommand(
    group,
    'reset <agent> <end-user>',
    "Remove an end user's own limits, so that those of the agent apply again",
    'limit reset Support ann',
  ).action(async (agent: string, externalUser: string, options: ServerOptions) => {
    const server = createAdminClient(run.environment, options)
    await server.call('DELETE', `${await pathOfAgent(server, agent)}/end-users/limits`, { query: { external_user_id: externalUser } })
    tell(run, `The limits of agent ${escapeForTerminal(agent)} apply to ${escapeForTerminal(externalUser)}`)
  })

  /** Sends the limits again with the named one replaced or removed. */
  async function change(agent: string, options: LimitOptions, next: (others: Fields[], limit: Fields) => Fields[]): Promise<void> {
    const { user: externalUser, window } = options
    const scope = options.scope ?? (externalUser === undefined ? undefined : 'end_user')
    if (scope === undefined) throw new CommandFailed(2, `--scope is required: one of ${scopes.join(', ')}`)
    const server = createAdminClient(run.environment, options)
    const path = await pathOfAgent(server, agent)
    const present = await presentLimits(server, path, externalUser)
    const others = present.filter((limit) => limit['scope'] !== scope || limit['window'] !== window)
    const spend_limits = next(others, { scope, window })
    const changed =
      externalUser === undefined
        ? await server.call('PATCH', path, { body: { spend_limits } })
        : await server.call('PUT', `${path}/end-users/limits`, { body: { external_user_id: externalUser, spend_limits } })
    if (options.json) return write(run, `${jsonText(changed, 2)}\n`)
    await printTable(run, limitColumns, listOf({ data: changed['spend_limits'] }), 'No limits.')
    const { warnings } = changed
    if (Array.isArray(warnings)) for (const warning of warnings) tell(run, `Warning: ${escapeForTerminal(String(warning))}`)
  }
}

const withLimit = (command: Command): Command =>
  command
    .addOption(new Option('--scope <scope>', 'Whose spending is limited: each end user, each API key, or the agent').choices(scopes))
    .addOption(new Option('--window <window>', 'A UTC calendar day or month, or all time').choices(windows).makeOptionMandatory())

/** The limits of the agent, or what an end user has instead: at first the limits that its agent has for end users. */
async function presentLimits(server: AdminClient, path: string, externalUser: string | undefined): Promise<Fields[]> {
  const ofAgent = listOf({ data: (await server.call('GET', path))['spend_limits'] })
  if (externalUser === undefined) return ofAgent
  const own = await server.call('GET', `${path}/end-users/limits`, { query: { external_user_id: externalUser } })
  return Array.isArray(own['spend_limits']) ? own['spend_limits'].filter(isFields) : ofAgent.filter(({ scope }) => scope === 'end_user')
}

function rowOf(row: Fields): Fields {
  const used = ['spent_usd', 'held_usd', 'unpaid_usd'].reduce((sum, name) => sum + Number(row[name]), 0)
  const limit = Number(row['limit_usd'])
  // Only shown: amounts are compared in the store.
  const percent = limit === 0 ? 100 : Math.floor((used / limit) * 100)
  return { ...row, used: `${percent} %`, subject: row['external_user_id'] ?? row['key_id'] ?? null }
}
