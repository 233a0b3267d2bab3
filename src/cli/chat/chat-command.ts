/**
 * `turnkeep chat`: chats with an agent through the playground of the admin API. Messages are regular turns, which are stored and charged.
 * On a terminal it is interactive; in a pipe, or with --message, it sends one message.
 */
import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findAgent } from './find-agent.ts'
import { Talk } from './talk.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd, keyText, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { loginName } from '../terminal/login-name.ts'
import { readStdin } from '../terminal/stdin.ts'

type ChatOptions = ServerOptions & { user?: string; new?: true; message?: string; idempotencyKey?: string }

export function define(command: Command, run: CommandRun): void {
  command.addHelpText('after', '\nEvery message is a regular turn: it is stored, and charged to the owner of\nthe agent.')
  withServerOptions(helpEnd(command, 'chat Support'))
    .argument('[agent]', 'Id of the agent, or its name if unique (default: the only agent)')
    .option('--user <name>', 'End user of the conversation (default: your login name)')
    .option('--new', 'Start a new conversation with a generated end user')
    .option('--message <text>', 'Send one message, print the reply and exit; also reads the message from a pipe')
    .option('--idempotency-key <key>', 'With --message: key of an earlier attempt, to get its reply (default: a new key)', keyText)
    .action((agent: string | undefined, options: ChatOptions) => chat(run, agent, options))
}

async function chat(run: CommandRun, given: string | undefined, options: ChatOptions): Promise<void> {
  const client = createAdminClient(run.environment, options)
  // The end user of the console's playground, if the system has no login name.
  const { user = loginName('playground') } = options
  const newEndUser = (): string => `${user}-${new Date().toISOString().replace(/[-:]|\.\d+Z/g, '')}`
  const externalUserId = options.new ? newEndUser() : user
  const once = options.message !== undefined || options.json || !run.stdin.isTTY || !run.stdout.isTTY
  if (!once) {
    if (options.idempotencyKey !== undefined) throw new CommandFailed(2, '--idempotency-key requires --message')
    const { chatAtTerminal } = await import('./terminal-chat.ts')
    return chatAtTerminal(run, new Talk(client, await findAgent(client, given), externalUserId), newEndUser)
  }
  const text = options.message ?? (await readStdin(run)).toString().replace(/\r?\n$/, '')
  if (text === '') throw new CommandFailed(2, 'no message: use --message, or pipe the message to stdin')
  const { sayOnce } = await import('./one-message.ts')
  const talk = new Talk(client, await findAgent(client, given), externalUserId)
  await sayOnce(run, talk, { text, idempotencyKey: options.idempotencyKey ?? randomUUID(), json: options.json ?? false })
}
