/** Finds the agent to chat with: by ID, by a unique name, or the only agent. Never guesses between several. */
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { listLines, pathOfAgent } from '../admin-api/names.ts'
import { CommandFailed } from '../terminal/command-failed.ts'

/** Throws CommandFailed with code 1 if no agent or several agents match; the message lists the agents. */
export async function findAgent(client: AdminClient, given: string | undefined): Promise<Fields> {
  if (given !== undefined) return client.call('GET', await pathOfAgent(client, given))
  const agents: Fields[] = []
  for await (const page of client.pages('/agents')) agents.push(...page.data)
  if (agents.length === 1) return agents[0]!
  if (agents.length === 0) throw new CommandFailed(1, 'no agents exist. To create one: npx --no-install turnkeep agent create --help')
  throw new CommandFailed(1, ['several agents exist. Specify one of:', ...listLines(agents, 'agent')].join('\n'))
}
