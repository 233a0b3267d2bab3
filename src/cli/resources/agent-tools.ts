/** `turnkeep agent tools|try-tool|refresh-tools`: lists the tools of an agent, calls one, and compares them with its MCP servers. */
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { listOf, printRecord, printTable, tell, write } from '../terminal/print.ts'
import { readStdin } from '../terminal/stdin.ts'
import { shortened, visible } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'name', path: 'name' },
  { title: 'kind', path: 'kind' },
  { title: 'side effects', path: 'side_effects' },
  { title: 'pinned', path: 'pinned' },
  { title: 'description', path: 'description' },
]
const differenceColumns: Column[] = [
  { title: 'server', path: 'server' },
  { title: 'tool', path: 'tool' },
  { title: 'change', path: 'change' },
  { title: 'side effects', path: 'side_effects' },
  { title: 'description', path: 'description' },
]

const example = 'agt_01jd3v9qk8x2m5n7p4r6t8w0ya'

export function defineToolCommands(group: Command, environment: Environment): void {
  const client = (options: ServerOptions) => createAdminClient(environment, options)

  serverCommand(group, 'tools <agent-id>', 'List tools by the names that the model sees', `agent tools ${example}`).action(
    async (id: string, options: ServerOptions) => {
      const { tools } = await client(options).call('GET', agentPath(id))
      const given = listOf({ data: tools })
      if (options.json) return printRecord({ data: given }, options)
      return printTable(columns, given.flatMap(rowsOf), 'The agent has no tools.')
    },
  )

  serverCommand(
    group,
    'try-tool <agent-id> <tool>',
    'Call a tool, including its side effects; exit with 1 if it fails',
    `agent try-tool ${example} lookup_order --arguments '{"order_id": "1017"}'`,
  )
    .option('--arguments <json>', 'Arguments as a JSON object; - reads stdin', '{}')
    .action(async (id: string, tool: string, { arguments: text, ...options }: ServerOptions & { arguments: string }) => {
      const body = { tool, arguments: parseArguments(text === '-' ? (await readStdin()).toString() : text) }
      const tried = await client(options).call('POST', `${agentPath(id)}/tools/try`, { body })
      if (options.json) await printRecord(tried, options)
      else {
        await write(`${visible(String(tried['result']), true)}\n`)
        tell(`${tried['is_error'] === true ? 'Failed' : 'Succeeded'} after ${Math.round(Number(tried['ms']))} ms.`)
      }
      if (tried['is_error'] === true) process.exitCode = 1
    })

  serverCommand(
    group,
    'refresh-tools <agent-id>',
    'Compare the pinned tools with the MCP servers; exit with 1 if they differ',
    `agent refresh-tools ${example} --approve`,
  )
    .option('--approve', 'Pin the current tools of the servers in a new version of the agent')
    .action(async (id: string, { approve, ...options }: ServerOptions & { approve?: true }) => {
      const found = await client(options).call('POST', `${agentPath(id)}/tools/refresh`, { body: approve ? { approve } : {} })
      const differences = listOf(found)
      if (options.json) await printRecord(found, options)
      else await printTable(differenceColumns, differences.map(withSides), 'The pinned tools match the MCP servers.')
      if (differences.length === 0) return
      if (approve) return tell(`Pinned the tools in version ${String(found['version'])}.`)
      tell('The agent still uses the pinned tools. To pin the current tools of the servers, add --approve.')
      process.exitCode = 1
    })
}

/** Returns one row per tool. An MCP server has a row for each of its pinned tools. */
function rowsOf(tool: Fields): Fields[] {
  const { type: kind, name } = tool
  if (kind !== 'mcp') return [{ side_effects: false, ...tool, kind, description: shortened(tool['description'] ?? builtIn[String(name)]) }]
  return listOf({ data: tool['pinned'] }).map((pinned) => ({
    ...pinned,
    name: `${String(name)}__${String(pinned['name'])}`,
    kind,
    pinned: true,
    description: shortened(pinned['description']),
  }))
}

const builtIn: Record<string, string> = { now: 'Returns the date and time', search_knowledge: 'Searches the documents of the agent' }

function withSides({ before, now, ...rest }: Fields): Fields {
  const shown = isFields(now) ? now : isFields(before) ? before : {}
  return { ...rest, side_effects: shown['side_effects'], description: shortened(shown['description']) }
}

function parseArguments(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch {
    // Reported below, like JSON that is not an object.
  }
  throw new CommandFailed(2, `--arguments must be a JSON object, such as {"city": "Oslo"}`)
}
