/** `turnkeep turn rerun`: runs the message of a turn again and prints the stored reply and the new one, to compare them (`rerun.harmless`). */
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient, isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { anyNumber, given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, terminalWidth } from '../terminal/table.ts'
import { readAgentFields } from './agent-fields.ts'
import type { AgentFlags } from './agent-fields.ts'
import { turnPath, whyCutOff } from './follow-turn.ts'
import { line, writeTokens, wrapped } from './trace-lines.ts'
import type { Line } from './trace-lines.ts'
import { readTrace } from './trace.ts'
import type { Trace } from './trace.ts'

type Flags = Pick<AgentFlags, 'systemPrompt' | 'systemPromptFile' | 'model' | 'temperature' | 'maxOutputTokens'> & { message?: string }
type Usage = { prompt_tokens: number; completion_tokens: number; estimated: boolean }
type Rerun = { text: string; usage: Usage; cost_usd: string; failure: { cause_kind: string; cause: string } | null }

// The deadline of a turn is 110 s, and the rest of the request needs time too.
const timeoutMs = 125_000

export function defineRerun(group: Command, run: CommandRun, example: string): void {
  serverCommand(
    group,
    'rerun <request-id>',
    'Run the message of a turn again, without storing or charging anything',
    `turn rerun ${example} --system-prompt-file prompt.txt --temperature 0.2`,
  )
    .option('--system-prompt <text>', 'System prompt of this rerun')
    .option('--system-prompt-file <file>', 'Text file with the system prompt of this rerun; - reads stdin')
    .option('--model <provider/model>', 'Name of a provider, a slash, and the ID of the model')
    .option('--temperature <number>', 'Temperature from 0 to 2', anyNumber)
    .option('--max-output-tokens <count>', 'Maximum length of a model response in tokens', wholeNumber)
    .option('--message <text>', 'Message to run instead of that of the turn')
    .action((requestId: string, options: ServerOptions & Flags) =>
      rerun(run, createAdminClient(run.environment, options), requestId, options),
    )
}

/** Throws CommandFailed: 1 if the API refuses, or if the rerun has no reply. */
async function rerun(
  run: CommandRun,
  server: AdminClient,
  requestId: string,
  { json, message, ...flags }: ServerOptions & Flags,
): Promise<void> {
  const overrides = { ...(await readAgentFields(run, flags)), ...given({ message }) }
  const path = turnPath(requestId)
  const again = async (): Promise<Fields> => server.call('POST', `${path}/rerun`, { body: { overrides }, timeoutMs })
  if (json) {
    const response = await again()
    await printRecord(run, response, { json })
    return refuseNoReply(readRerun(response))
  }
  // First, so that an unknown turn costs no model call.
  const trace = readTrace(await server.call('GET', `${path}/trace`))
  const turn = await server.call('GET', path)
  const response = await again()
  const result = readRerun(response)
  const { spans } = readTrace(response)
  const model = String(overrides['model'] ?? trace.version.model)
  const lines = [
    line(0, `Turn ${requestId}: ${trace.status}, version ${trace.version.number}`),
    line(0, `Message: ${trace.message}`),
    ...(message === undefined ? [] : [line(0, `Message of the rerun: ${message}`)]),
    line(0, ''),
    ...storedLines(trace, turn),
    line(0, ''),
    line(
      0,
      `${result.failure ? 'No new reply' : 'New reply'}: ${model}, ${writeTokens(result.usage)}, ${result.cost_usd} USD at the price of the turn`,
    ),
    ...callLines(spans),
    ...(result.failure ? [] : [line(2, result.text, 0)]),
  ]
  const width = terminalWidth(run) ?? Infinity
  await write(run, `${lines.flatMap((one) => wrapped(one, width)).join('\n')}\n`)
  tell(run, 'Nothing was stored or charged. The provider bills the model calls.')
  refuseNoReply(result)
}

function storedLines({ status, version, reply }: Trace, { usage, failure, incomplete, finish_reason: finish }: Fields): Line[] {
  if (reply === null) {
    const cause = isFields(failure) && status !== 'cancelled' ? ` (${String(failure['cause_kind'])}): ${String(failure['cause'])}` : ''
    return [line(0, `No stored reply: ${status}${cause}`)]
  }
  const used = usage as Usage & { charged_usd: string }
  const facts = `${version.model}, ${writeTokens(used)}, ${used.charged_usd} USD charged${incomplete === true ? `, incomplete: ${whyCutOff(finish)}` : ''}`
  return [line(0, `Stored reply: ${facts}`), line(2, reply, 0)]
}

/** A call that was not made can be why the replies differ. */
function callLines(spans: Trace['spans']): Line[] {
  const calls = spans.filter((span) => span.type === 'tool_call').map(({ name, status }) => `${name} (${status.replaceAll('_', ' ')})`)
  return calls.length === 0 ? [] : [line(2, `Tool calls: ${calls.join(', ')}`)]
}

function readRerun(fields: Fields): Rerun {
  if (typeof fields['text'] !== 'string' || !isFields(fields['usage']))
    throw new CommandFailed(2, 'unexpected response: it is not a rerun. Check that the URL is that of a Turnkeep server of this version.')
  return fields as Rerun
}

function refuseNoReply({ failure }: Rerun): void {
  if (failure) throw new CommandFailed(1, `the rerun has no reply (${failure.cause_kind}): ${escapeForTerminal(failure.cause)}`)
}
