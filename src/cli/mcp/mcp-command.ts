/**
 * `turnkeep mcp`: an agent as an MCP server over stdin and stdout, for an assistant on this machine that starts it. Sends messages to the
 * running service as `turnkeep chat` does. Only the protocol goes to stdout; everything else goes to stderr.
 */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import { findAgent } from '../chat/find-agent.ts'
import { helpEnd, withUrlOption } from '../terminal/command-options.ts'
import { loginName } from '../terminal/login-name.ts'
import { tell } from '../terminal/print.ts'
import { escapeForTerminal } from '../terminal/table.ts'

type McpOptions = { agent?: string; user?: string; url?: string }

export function define(command: Command, run: CommandRun): void {
  command.addHelpText(
    'after',
    '\nA desktop assistant runs this command and calls the agent as a tool. Every\nmessage is a regular turn: it is stored, and charged to the owner of the agent.',
  )
  withUrlOption(helpEnd(command, 'mcp --agent Support'))
    .option('--agent <agent>', 'Id of the agent, or its name if unique (default: the only agent)')
    .option('--user <name>', 'End user of calls that name none (default: your login name)')
    .action((options: McpOptions) => serve(run, options))
}

/** Throws CommandFailed: 1 if the agent is not found, 2 if the server cannot be reached. Otherwise runs until stdin ends. */
async function serve(run: CommandRun, { agent: given, user = loginName('local'), url }: McpOptions): Promise<void> {
  const client = createAdminClient(run.environment, { url })
  const agent = await findAgent(client, given)
  // The SDK is large, and no other command needs it.
  const { serveAgent } = await import('./serve-agent.ts')
  serveAgent(run, client, agent, user)
  const name = escapeForTerminal(String(agent['name']))
  tell(run, `Serving the agent ${name} of ${client.url} as an MCP server on stdin and stdout, for the end user ${escapeForTerminal(user)}.`)
}
