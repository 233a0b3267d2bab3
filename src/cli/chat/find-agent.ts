/** Which agent is meant: by its id, by a name that one alone has, or the only one there is. Never guesses among several. */
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { Table, visible } from '../terminal/table.ts'

/** Throws CommandFailed: 1 where none is meant or several are, with a table of them. */
export async function findAgent(client: AdminClient, given: string | undefined): Promise<Fields> {
  if (given?.startsWith('agt_')) return client.call('GET', agentPath(given))
  const agents: Fields[] = []
  for await (const page of client.pages('/agents')) agents.push(...page.data)
  const meant = given === undefined ? agents : agents.filter(({ name }) => name === given)
  if (meant.length === 1) return meant[0]!
  if (agents.length === 0) throw new CommandFailed(1, 'there is no agent yet: npx turnkeep agent create --help')
  const why =
    given === undefined
      ? 'there are several agents; name one:'
      : `${meant.length === 0 ? 'no agent has' : `${meant.length} agents have`} the name ${visible(given)}; take an id:`
  throw new CommandFailed(1, [why, ...listLines(meant.length > 0 ? meant : agents)].join('\n'))
}

// More than a person reads; all of them: npx turnkeep agent list.
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
