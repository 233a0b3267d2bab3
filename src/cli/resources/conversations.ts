/** `turnkeep conversation …`: what external users and agents said to each other, and its erasure. Ruling `erase`. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord } from '../terminal/print.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'begun (UTC)', path: 'created_at', as: 'time' },
  { title: 'last message', path: 'last_message_at', as: 'time' },
  { title: 'messages', path: 'message_count', as: 'number' },
  { title: 'agent', path: 'agent_id' },
  { title: 'external user', path: 'external_user_id' },
]
const messageColumns: Column[] = [
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'role', path: 'role' },
  { title: 'turn $', path: 'turn.usage.charged_usd', as: 'usd' },
  { title: 'request', path: 'request_id' },
  { title: 'content', path: 'content', as: 'short' },
]

type ListOptions = ServerOptions & { limit?: number; agent?: string; key?: string; user?: string; from?: string; to?: string }

const example = 'conv_01jd3v9qk8x2m5n7p4r6t8w0ya'
const conversationPath = (id: string): string => `/conversations/${encodeURIComponent(id)}`

export function define(group: Command, environment: Environment): void {
  const client = (options: ServerOptions) => createAdminClient(environment, options)

  serverCommand(group, 'list', 'list conversations of all keys, newest first', 'conversation list --user ann --limit 20')
    .option('--agent <agent-id>', 'only with this agent')
    .option('--key <key-id>', 'only by this API key')
    .option('--user <name>', 'only of this external user')
    .option('--from <time>', 'begun then or later: a date as 2026-11-21 or a time as 2026-11-21T12:00:00Z')
    .option('--to <time>', 'begun before')
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action(({ agent, key, user, from, to, ...options }: ListOptions) => {
      const query = { agent_id: agent, key_id: key, external_user_id: user, from, to }
      return printList(client(options), '/conversations', columns, { ...options, query })
    })

  serverCommand(group, 'show <conversation-id>', 'show a conversation, without its messages', `conversation show ${example}`).action(
    async (id: string, options: ServerOptions) => printRecord(await client(options).call('GET', conversationPath(id)), options),
  )

  serverCommand(
    group,
    'messages <conversation-id>',
    'list its messages, newest first; --json has them whole, with citations and tool calls',
    `conversation messages ${example} --limit 20`,
  )
    .option('--limit <count>', 'only so many of the newest', wholeNumber)
    .action((id: string, options: ServerOptions & { limit?: number }) =>
      printList(client(options), `${conversationPath(id)}/messages`, messageColumns, options),
    )

  serverCommand(
    group,
    'delete <conversation-id>',
    'erase its text for good; figures and ledger stay',
    `conversation delete ${example}`,
  ).action(async (id: string, options: ServerOptions) => printRecord(await client(options).call('DELETE', conversationPath(id)), options))

  serverCommand(
    group,
    'delete-user <agent-id> <external-user>',
    'erase every conversation of an external user with any key of the agent',
    'conversation delete-user agt_01jd3v9qk8x2m5n7p4r6t8w0ya ann',
  ).action(async (agentId: string, user: string, options: ServerOptions) => {
    const query = { external_user_id: user }
    await printRecord(await client(options).call('DELETE', `${agentPath(agentId)}/end-users`, { query }), options)
  })
}
