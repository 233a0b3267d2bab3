/**
 * `turnkeep chat`: a conversation with an agent, by the playground of the admin API: the real pipeline, stored and billed. At a terminal message after
 * message; for a program one. Surfaces: Commands.
 */
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findAgent } from './find-agent.ts'
import { Talk } from './talk.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd, withServerOptions } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { readStdin } from '../terminal/stdin.ts'

type ChatOptions = ServerOptions & { user?: string; new?: true; message?: string; idempotencyKey?: string }

export function define(command: Command, environment: Environment): void {
  command.addHelpText('after', '\nEvery message is a turn like any other: stored, and charged to the\nagent’s owner.')
  withServerOptions(helpEnd(command, 'chat Support'))
    .argument('[agent]', 'its id, or a name that one agent alone has; default: the only agent there is')
    .option('--user <name>', 'the external user whose conversation it is; default: your login name')
    .option('--new', 'begin another conversation, with an external user of its own')
    .option('--message <text>', 'send this one message, print the reply and end; so does a message piped in')
    .option('--idempotency-key <key>', 'of that one message: the key of an earlier try, to get its reply; default: a new one')
    .action((agent: string | undefined, options: ChatOptions) => chat(environment, agent, options))
}

async function chat(environment: Environment, given: string | undefined, options: ChatOptions): Promise<void> {
  const client = createAdminClient(environment, options)
  const { user = loginName() } = options
  const nameAnew = (): string => `${user}-${new Date().toISOString().replace(/[-:]|\.\d+Z/g, '')}`
  const externalUserId = options.new ? nameAnew() : user
  const once = options.message !== undefined || options.json || !process.stdin.isTTY || !process.stdout.isTTY
  if (!once) {
    if (options.idempotencyKey !== undefined) throw new CommandFailed(2, '--idempotency-key is for one message: give it with --message')
    const { chatAtTerminal } = await import('./terminal-chat.ts')
    return chatAtTerminal(new Talk(client, await findAgent(client, given), externalUserId), nameAnew)
  }
  const text = options.message ?? (await readStdin()).toString().replace(/\r?\n$/, '')
  if (text === '') throw new CommandFailed(2, 'there is no message: give it with --message, or pipe it in')
  const { sayOnce } = await import('./one-message.ts')
  const talk = new Talk(client, await findAgent(client, given), externalUserId)
  await sayOnce(talk, { text, idempotencyKey: options.idempotencyKey ?? randomUUID(), json: options.json ?? false })
}

/** As the console calls its own, where the system knows no name. */
function loginName(): string {
  try {
    return userInfo().username
  } catch {
    return 'playground'
  }
}
