/** `turnkeep agent tools|try-tool|refresh-tools`: lists the tools of an agent, calls one, and compares them with its MCP servers. */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { pathOfAgent } from '../admin-api/names.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { jsonText, listOf, printRecord, printTable, tell, write } from '../terminal/print.ts'
import { parseJson } from '../terminal/json-input.ts'
import { readStdin } from '../terminal/stdin.ts'
import { shortened, escapeForTerminal } from '../terminal/table.ts'
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

const example = 'Support'

export function defineToolCommands(group: Command, run: CommandRun): void {
  const client = (options: ServerOptions) => createAdminClient(run.environment, options)

  serverCommand(
    group,
    'tools <agent> [tool]',
    'List tools by the names that the model sees, or show one with its parameters',
    `agent tools ${example} lookup_order`,
  ).action(async (agent: string, tool: string | undefined, options: ServerOptions) => {
    const server = client(options)
    const { tools } = await server.call('GET', await pathOfAgent(server, agent))
    const given = listOf({ data: tools })
    if (tool !== undefined) return showTool(run, given.flatMap(offeredBy), tool, options)
    if (options.json) return printRecord(run, { data: given }, options)
    await printTable(run, columns, given.flatMap(rowsOf), 'The agent has no tools.')
    tellUnusable(
      run,
      given.flatMap(({ name: of, unusable }) => listOf({ data: unusable ?? [] }).map((one) => ({ server: of, ...one }))),
    )
  })

  serverCommand(
    group,
    'try-tool <agent> <tool>',
    'Call a tool, including its side effects; exit with 1 if it fails',
    `agent try-tool ${example} lookup_order --arguments '{"order_id": "1017"}'`,
  )
    .option('--arguments <json>', 'Arguments as a JSON object; - reads stdin', '{}')
    .action(async (agent: string, tool: string, { arguments: text, ...options }: ServerOptions & { arguments: string }) => {
      const body = { tool, arguments: parseArguments(text === '-' ? (await readStdin(run)).toString() : text) }
      const server = client(options)
      const tried = await server.call('POST', `${await pathOfAgent(server, agent)}/tools/try`, { body })
      if (options.json) await printRecord(run, tried, options)
      else {
        await write(run, `${escapeForTerminal(String(tried['result']), true)}\n`)
        tell(run, `${tried['is_error'] === true ? 'Failed' : 'Succeeded'} after ${Math.round(Number(tried['ms']))} ms.`)
      }
      if (tried['is_error'] === true) run.exitCode = 1
    })

  serverCommand(
    group,
    'refresh-tools <agent>',
    'Compare the pinned tools with the MCP servers; exit with 1 if they differ',
    `agent refresh-tools ${example} --approve`,
  )
    .option('--approve', 'Pin the current tools of the servers in a new version of the agent')
    .action(async (agent: string, { approve, ...options }: ServerOptions & { approve?: true }) => {
      const server = client(options)
      const path = `${await pathOfAgent(server, agent)}/tools/refresh`
      const found = await server.call('POST', path, { body: approve ? { approve } : {} })
      const differences = listOf(found)
      if (options.json) await printRecord(run, found, options)
      else {
        await printTable(run, differenceColumns, differences.map(withSides), 'The pinned tools match the MCP servers.')
        tellUnusable(run, listOf({ data: found['unusable'] ?? [] }))
      }
      if (differences.length === 0) return
      if (approve) return tell(run, `Pinned the tools in version ${String(found['version'])}.`)
      tell(run, 'The agent still uses the pinned tools. To pin the current tools of the servers, add --approve.')
      run.exitCode = 1
    })
}

/** The tools that the servers offer and that cannot be used. The output for programs has them in the field `unusable`. */
function tellUnusable(run: CommandRun, tools: Fields[]): void {
  for (const { server, name, reason } of tools)
    tell(run, `The tool ${escapeForTerminal(`${String(server)}__${String(name)}`)} cannot be used: ${escapeForTerminal(String(reason))}.`)
}

/** The tools of one entry, named as the model sees them. An MCP server has all those that are pinned. */
function offeredBy(tool: Fields): Fields[] {
  const { type: kind, name } = tool
  if (kind !== 'mcp') return [{ side_effects: false, ...tool, kind, description: tool['description'] ?? builtIn[String(name)] }]
  return listOf({ data: tool['pinned'] }).map((pinned) => ({
    ...pinned,
    name: `${String(name)}__${String(pinned['name'])}`,
    kind,
    pinned: true,
  }))
}

const rowsOf = (tool: Fields): Fields[] => offeredBy(tool).map((one) => ({ ...one, description: shortened(one['description']) }))

/** The whole description and the JSON Schema of the arguments, as the model gets them. */
async function showTool(run: CommandRun, tools: Fields[], name: string, options: ServerOptions): Promise<void> {
  const tool = tools.find((one) => one['name'] === name)
  if (!tool)
    throw new CommandFailed(1, `the agent has no tool ${escapeForTerminal(name)}: npx --no-install turnkeep agent tools lists them`)
  const { kind, side_effects: sideEffects, pinned = false, description, parameters = null } = tool
  const shown = { name, kind, side_effects: sideEffects, pinned, description }
  if (options.json) return printRecord(run, { ...shown, parameters }, options)
  await printRecord(run, shown, options)
  if (isFields(parameters)) await write(run, `\n${escapeForTerminal(jsonText(parameters, 2), true)}\n`)
}

const builtIn: Record<string, string> = { now: 'Returns the date and time', search_knowledge: 'Searches the documents of the agent' }

function withSides({ before, now, ...rest }: Fields): Fields {
  const shown = isFields(now) ? now : isFields(before) ? before : {}
  return { ...rest, side_effects: shown['side_effects'], description: shortened(shown['description']) }
}

function parseArguments(text: string): Fields {
  const value = parseJson(text, '--arguments')
  if (isFields(value)) return value
  throw new CommandFailed(2, `--arguments must be a JSON object, such as {"city": "Oslo"}`)
}
