/** Finds the agent to chat with: by ID, by a unique name, or the only agent. Never guesses between several. */
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { Table, visible } from '../terminal/table.ts'

/** Throws CommandFailed with code 1 if no agent or several agents match; the message lists the agents. */
export async function findAgent(client: AdminClient, given: string | undefined): Promise<Fields> {
  if (given?.startsWith('agt_')) return client.call('GET', agentPath(given))
  const agents: Fields[] = []
  for await (const page of client.pages('/agents')) agents.push(...page.data)
  const meant = given === undefined ? agents : agents.filter(({ name }) => name === given)
  if (meant.length === 1) return meant[0]!
  if (agents.length === 0) throw new CommandFailed(1, 'no agents exist. To create one: npx turnkeep agent create --help')
  const why =
    given === undefined
      ? 'several agents exist. Specify one of:'
      : `${meant.length === 0 ? 'no agent is' : `${meant.length} agents are`} named ${visible(given)}. Specify the id of one of:`
  throw new CommandFailed(1, [why, ...listLines(meant.length > 0 ? meant : agents)].join('\n'))
}

// `npx turnkeep agent list` lists all agents.
const maxLines = 20

function listLines(agents: Fields[]): string[] {
  const table = new Table([
    { title: 'id', path: 'id' },
    { title: 'model', path: 'model' },
    { title: 'name', path: 'name' },
  ])
  const more = agents.length > maxLines ? [`  … and ${agents.length - maxLines} more: npx turnkeep agent list`] : []
  return [...table.lines(agents.slice(0, maxLines)).map((line) => `  ${line}`), ...more]
}
