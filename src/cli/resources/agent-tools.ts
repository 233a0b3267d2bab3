/** `turnkeep agent tools|try-tool|refresh-tools`: what an agent may call, one such call, and what its MCP servers offer by now. */
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

  serverCommand(group, 'tools <agent-id>', 'list what the model may call, by the name it sees', `agent tools ${example}`).action(
    async (id: string, options: ServerOptions) => {
      const { tools } = await client(options).call('GET', agentPath(id))
      const given = listOf({ data: tools })
      if (options.json) return printRecord({ data: given }, options)
      return printTable(columns, given.flatMap(rowsOf), 'It has no tools.')
    },
  )

  serverCommand(
    group,
    'try-tool <agent-id> <tool>',
    'call a tool for real: what it changes is changed; exit 1 when it fails',
    `agent try-tool ${example} lookup_order --arguments '{"order_id": "1017"}'`,
  )
    .option('--arguments <json>', 'as the model would write them, a JSON object; - reads stdin', '{}')
    .action(async (id: string, tool: string, { arguments: text, ...options }: ServerOptions & { arguments: string }) => {
      const body = { tool, arguments: parseArguments(text === '-' ? (await readStdin()).toString() : text) }
      const tried = await client(options).call('POST', `${agentPath(id)}/tools/try`, { body })
      if (options.json) await printRecord(tried, options)
      else {
        await write(`${visible(String(tried['result']), true)}\n`)
        tell(`${tried['is_error'] === true ? 'It failed' : 'Done'} in ${Math.round(Number(tried['ms']))} ms.`)
      }
      if (tried['is_error'] === true) process.exitCode = 1
    })

  serverCommand(
    group,
    'refresh-tools <agent-id>',
    'ask its MCP servers what they offer now; exit 1 where that differs from what is pinned',
    `agent refresh-tools ${example} --approve`,
  )
    .option('--approve', 'pin what they offer now, in a new version of the agent')
    .action(async (id: string, { approve, ...options }: ServerOptions & { approve?: true }) => {
      const found = await client(options).call('POST', `${agentPath(id)}/tools/refresh`, { body: approve ? { approve } : {} })
      const differences = listOf(found)
      if (options.json) await printRecord(found, options)
      else await printTable(differenceColumns, differences.map(withSides), 'What the servers offer is what is pinned.')
      if (differences.length === 0) return
      if (approve) return tell(`Pinned, in version ${String(found['version'])}.`)
      tell('The agent goes on with what is pinned. To take over what they offer now: --approve')
      process.exitCode = 1
    })
}

/** A server stands for as many tools as are pinned of it. */
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

const builtIn: Record<string, string> = { now: 'the date and the time', search_knowledge: 'searches the documents' }

function withSides({ before, now, ...rest }: Fields): Fields {
  const shown = isFields(now) ? now : isFields(before) ? before : {}
  return { ...rest, side_effects: shown['side_effects'], description: shortened(shown['description']) }
}

function parseArguments(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text)
    if (isFields(value)) return value
  } catch {
    // Said below, as for JSON that is no object.
  }
  throw new CommandFailed(2, `--arguments must be a JSON object, as {"city": "Oslo"}`)
}
