/** `turnkeep conversation`: lists, shows and erases conversations between end users and agents (`erase`). */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { findFilters, pathOfAgent, refuseUnknownFilters } from '../admin-api/names.ts'
import { countFromOne, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'started (UTC)', path: 'created_at', as: 'time' },
  { title: 'last message (UTC)', path: 'last_message_at', as: 'time' },
  { title: 'messages', path: 'message_count', as: 'number' },
  { title: 'agent', path: 'agent_id', as: 'id' },
  { title: 'end user', path: 'external_user_id' },
]
const messageColumns: Column[] = [
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'role', path: 'role' },
  { title: 'charged $', path: 'turn.usage.charged_usd', as: 'usd' },
  { title: 'finish', path: 'turn.finish_reason' },
  { title: 'request ID', path: 'request_id', as: 'id' },
  { title: 'content', path: 'content', as: 'short' },
]

/** Both messages of a turn have its usage. In a table, its charge would look like two. */
const chargedOnce = (message: Fields): Fields => (message['role'] === 'user' ? { ...message, turn: undefined } : message)

type Searched = { text?: string; status?: string; rating?: string }
type ListOptions = ServerOptions & Searched & { limit?: number; agent?: string; key?: string; user?: string; from?: string; to?: string }

const example = 'conv_01jd3v9qk8x2m5n7p4r6t8w0ya'
const conversationPath = (id: string): string => `/conversations/${encodeURIComponent(id)}`

export function define(group: Command, run: CommandRun): void {
  const client = (options: ServerOptions) => createAdminClient(run.environment, options)

  serverCommand(group, 'list', 'List conversations of all API keys, newest first', 'conversation list --user ann --limit 20')
    .option('--agent <agent>', 'Filter by agent')
    .option('--key <key>', 'Filter by API key')
    .option('--user <name>', 'Filter by end user')
    .option('--from <time>', 'Started at or after this time, such as 2026-11-21 or 2026-11-21T12:00:00Z')
    .option('--to <time>', 'Started before this time')
    .option('--text <text>', 'Filter by a text in a message or a reply')
    .option('--status <status>', 'Filter by the status of a turn: running, completed, failed, released or cancelled')
    .option('--rating <rating>', 'Filter by the feedback on a turn: up or down')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async ({ agent, key, user, from, to, text, status, rating, ...options }: ListOptions) => {
      const server = client(options)
      const filters = await findFilters(server, { agent, key })
      const query = { agent_id: filters.agent, key_id: filters.key, external_user_id: user, from, to, q: text, status, rating }
      await printList(run, server, '/conversations', columns, { ...options, query, ifEmpty: () => refuseUnknownFilters(server, filters) })
    })

  serverCommand(group, 'show <conversation-id>', 'Show a conversation without its messages', `conversation show ${example}`).action(
    async (id: string, options: ServerOptions) => printRecord(run, await client(options).call('GET', conversationPath(id)), options),
  )

  serverCommand(
    group,
    'messages <conversation-id>',
    'List messages, newest first; --json includes citations and tool calls',
    `conversation messages ${example} --limit 20`,
  )
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action((id: string, options: ServerOptions & { limit?: number }) =>
      printList(run, client(options), `${conversationPath(id)}/messages`, messageColumns, { ...options, rowOf: chargedOnce }),
    )

  serverCommand(
    group,
    'delete <conversation-id>',
    'Erase the text of a conversation permanently; usage and ledger are kept',
    `conversation delete ${example}`,
  ).action(async (id: string, options: ServerOptions) =>
    printRecord(run, await client(options).call('DELETE', conversationPath(id)), options),
  )

  serverCommand(
    group,
    'delete-user <agent> <end-user>',
    'Erase all conversations of an end user with an agent',
    'conversation delete-user Support ann',
  ).action(async (agent: string, user: string, options: ServerOptions) => {
    const server = client(options)
    const query = { external_user_id: user }
    await printRecord(run, await server.call('DELETE', `${await pathOfAgent(server, agent)}/end-users`, { query }), options)
  })
}
