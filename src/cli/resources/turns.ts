/** `turnkeep turn`: shows the state, cost, failure, steps and trace of a turn by its request ID, follows its text, cancels and reruns it. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import { findFilters, refuseUnknownFilters } from '../admin-api/names.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { openLiveText } from '../chat/live-text.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { listOf, printList, printRecord, printTable, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines, shortened, terminalWidth } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { endOfTurn, followTurn, turnPath } from './follow-turn.ts'
import { priceLines } from './price-lines.ts'
import type { PriceCalculation } from './price-lines.ts'
import { defineRerun } from './rerun.ts'
import { traceLines } from './trace-lines.ts'
import { hasContent, readTrace } from './trace.ts'

const columns: Column[] = [
  { title: 'request ID', path: 'request_id', as: 'id' },
  { title: 'started (UTC)', path: 'started_at', as: 'time' },
  { title: 'status', path: 'status' },
  { title: 'attempts', path: 'attempts', as: 'number' },
  { title: 'tokens', path: 'usage.total_tokens', as: 'number' },
  { title: 'charged $', path: 'usage.charged_usd', as: 'usd' },
  { title: 'agent', path: 'agent_id', as: 'id' },
  { title: 'cause', path: 'failure.cause_kind' },
]
const stepColumns: Column[] = [
  { title: 'run', path: 'run', as: 'number' },
  { title: 'step', path: 'step', as: 'number' },
  { title: 'time (UTC)', path: 'created_at', as: 'time' },
  { title: 'event', path: 'what' },
  { title: 'duration', path: 'ms', as: 'ms' },
  { title: 'tokens', path: 'tokens' },
  { title: 'content', path: 'says', as: 'short' },
]

type TraceOptions = ServerOptions & { prompt?: boolean }
type ListOptions = ServerOptions & { limit?: number; status?: string; agent?: string; conversation?: string }

const example = '01a1fe3e-91cf-7299-8cd6-487d81a485ba'

export function define(group: Command, run: CommandRun): void {
  const client = (options: ServerOptions) => createAdminClient(run.environment, options)

  serverCommand(group, 'list', 'List turns, newest first', 'turn list --status failed --limit 20')
    .addOption(new Option('--status <status>', 'Filter by status').choices(['running', 'completed', 'failed', 'released', 'cancelled']))
    .option('--agent <agent>', 'Filter by agent')
    .option('--conversation <conversation-id>', 'Filter by conversation')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async ({ status, agent, conversation, ...options }: ListOptions) => {
      const server = client(options)
      const filters = await findFilters(server, { agent, conversation })
      const query = { status, agent_id: filters.agent, conversation_id: conversation }
      await printList(run, server, '/turns', columns, { ...options, query, ifEmpty: () => refuseUnknownFilters(server, filters) })
    })

  serverCommand(group, 'show <request-id>', 'Show the status, cost, failure, feedback and steps of a turn', `turn show ${example}`).action(
    async (requestId: string, options: ServerOptions) => {
      const turn = await client(options).call('GET', turnPath(requestId))
      if (options.json) return printRecord(run, turn, options)
      // `state` is the old name of `status`.
      const { steps, price_calculation: calculation, state: _, ...rest } = turn
      await write(run, `${recordLines(rest).join('\n')}\n\n`)
      if (isFields(calculation))
        await write(
          run,
          `${priceLines(calculation as PriceCalculation)
            .map((text) => escapeForTerminal(text))
            .join('\n')}\n\n`,
        )
      return printTable(
        run,
        stepColumns,
        listOf({ data: steps }).map(stepRow),
        'No steps. A turn with a single model call has none; other steps are deleted with the text of the turn, or after 30 days.',
      )
    },
  )

  serverCommand(group, 'trace <request-id>', 'Explain a turn: its attempts, passages, model calls and tool calls', `turn trace ${example}`)
    .option('--prompt', 'Show the prompt that each model call was sent')
    .action((requestId: string, options: TraceOptions) => printTrace(run, client(options), requestId, options))

  defineRerun(group, run, example)

  serverCommand(
    group,
    'follow <request-id>',
    'Print the text of a turn while it is generated, until the turn ends',
    `turn follow ${example}`,
  ).action((requestId: string, options: ServerOptions) => follow(run, client(options), requestId, options))

  serverCommand(
    group,
    'cancel <request-id>',
    'Cancel a running turn; text that was generated becomes the reply',
    `turn cancel ${example}`,
  ).action(async (requestId: string, options: ServerOptions) => {
    const turn = await client(options).call('POST', `${turnPath(requestId)}/cancel`)
    if (options.json) return printRecord(run, turn, options)
    if (turn['status'] !== 'running') return tell(run, endOfTurn(turn))
    return tell(
      run,
      `Cancel requested. The turn ends when its current tool call has ended: npx --no-install turnkeep turn show ${escapeForTerminal(requestId)}`,
    )
  })
}

/** Throws CommandFailed with code 1 if only the ends of the attempts are known. */
async function printTrace(run: CommandRun, server: AdminClient, requestId: string, { json, prompt = false }: TraceOptions): Promise<void> {
  const response = await server.call('GET', `${turnPath(requestId)}/trace`)
  if (json) return printRecord(run, response, { json })
  const trace = readTrace(response)
  const id = escapeForTerminal(requestId)
  const why = 'it is older than TURNKEEP_TRACE_DAYS, traces are off (0), or all attempts died'
  if (trace.status !== 'running' && !trace.complete && !hasContent(trace))
    throw new CommandFailed(
      1,
      `no trace is stored for this turn: ${why}.\nFor its status, cost and failure: npx --no-install turnkeep turn show ${id}`,
    )
  await write(run, `${traceLines(trace, { width: terminalWidth(run) ?? Infinity, prompt }).join('\n')}\n`)
  if (trace.status === 'running') return tell(run, `The turn is still running. To follow it: npx --no-install turnkeep turn follow ${id}`)
  if (!trace.complete) tell(run, `The trace is not complete. A run has no stored trace: ${why}. Of it, only the journal is known.`)
}

/** Ctrl-C ends the command and not the turn. Throws CommandFailed: 1 if the turn ended without a reply, 2 after Ctrl-C. */
async function follow(run: CommandRun, server: AdminClient, requestId: string, { json }: ServerOptions): Promise<void> {
  // An unknown turn or a wrong address is reported like that of any other command.
  await server.call('GET', turnPath(requestId))
  const stopping = new AbortController()
  const ignoreInterrupt = run.onInterrupt(() => stopping.abort())
  const output = json ? undefined : openLiveText(run)
  const turn = await followTurn(
    server,
    requestId,
    {
      piece: (text) => output?.piece(text),
      reset() {
        if (!output) return
        output.end()
        tell(run, 'The turn ran again and generated a different text:')
      },
      waits(why, seconds) {
        output?.pause()
        tell(run, `${why}: continuing in ${seconds} s`)
      },
    },
    stopping.signal,
  )
  ignoreInterrupt()
  output?.end()
  if (!turn)
    throw new CommandFailed(
      2,
      `stopped following. The turn continues: npx --no-install turnkeep turn follow ${escapeForTerminal(requestId)}`,
    )
  if (json) return printRecord(run, turn, { json })
  if (turn['status'] !== 'completed') throw new CommandFailed(1, endOfTurn(turn))
  tell(run, endOfTurn(turn))
}

function stepRow({ payload, kind, ...rest }: Fields): Fields {
  if (!isFields(payload)) return { ...rest, what: kind }
  const { usage, name, ms, text, tool_calls: calls } = payload
  if (kind !== 'model') {
    const isStart = kind === 'tool_started'
    const content = isStart ? payload['arguments'] : payload['result']
    return {
      ...rest,
      what: `${String(name)} ${isStart ? 'called' : payload['is_error'] === true ? 'failed' : 'succeeded'}`,
      ms,
      says: textOf(content),
    }
  }
  const tokens = isFields(usage) ? `${String(usage['prompt_tokens'])} + ${String(usage['completion_tokens'])}` : undefined
  return { ...rest, what: 'model', tokens, says: text === '' && Array.isArray(calls) ? `calls ${textOf(calls)}` : text }
}

const textOf = (value: unknown): string => shortened(typeof value === 'string' ? value : JSON.stringify(value))
