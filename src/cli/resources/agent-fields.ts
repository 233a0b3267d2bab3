/** The fields of an agent as a command gives them: a JSON file in the API's own words, and flags for the usual ones, which win. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { anyNumber, given, wholeNumber } from '../terminal/command-options.ts'
import { readStdin } from '../terminal/stdin.ts'

export type AgentFlags = {
  file?: string
  name?: string
  systemPrompt?: string
  systemPromptFile?: string
  model?: string
  promptPrice?: string
  completionPrice?: string
  maxOutputTokens?: number
  temperature?: number
  tools?: string
}

export function withAgentFlags(command: Command): Command {
  return command
    .option('-f, --file <file>', 'a JSON file with fields of the API; - reads stdin')
    .option('--name <name>', 'what it is called')
    .option('--system-prompt <text>', 'what it is told before every conversation')
    .option('--system-prompt-file <file>', 'the same from a text file')
    .option('--model <provider/model>', 'the name of a provider, a slash, the model’s id')
    .option('--prompt-price <usd>', 'USD for a million prompt tokens; with --completion-price')
    .option('--completion-price <usd>', 'USD for a million completion tokens')
    .option('--max-output-tokens <count>', 'the longest reply', wholeNumber)
    .option('--temperature <number>', '0 to 2', anyNumber)
    .option('--tools <file>', 'a JSON file with a list of tools, in place of those there are; - reads stdin')
}

/** Throws CommandFailed with code 2 for a file that cannot be read. */
export async function readAgentFields(flags: AgentFlags): Promise<Fields> {
  const { promptPrice, completionPrice, systemPromptFile } = flags
  if (flags.systemPrompt !== undefined && systemPromptFile !== undefined)
    throw new CommandFailed(2, 'give --system-prompt or --system-prompt-file, not both')
  if ([flags.file, flags.systemPromptFile, flags.tools].filter((file) => file === '-').length > 1)
    throw new CommandFailed(2, 'only one file can be read from stdin')
  const price = given({ prompt_usd_per_million: promptPrice, completion_usd_per_million: completionPrice })
  return {
    ...(flags.file === undefined ? {} : await readFields(flags.file)),
    ...given({
      name: flags.name,
      system_prompt: systemPromptFile === undefined ? flags.systemPrompt : (await readText(systemPromptFile)).trimEnd(),
      model: flags.model,
      price: Object.keys(price).length > 0 ? price : undefined,
      max_output_tokens: flags.maxOutputTokens,
      temperature: flags.temperature,
      tools: flags.tools === undefined ? undefined : await readTools(flags.tools),
    }),
  }
}

async function readFields(file: string): Promise<Fields> {
  const value = await readJson(file)
  if (!isFields(value))
    throw new CommandFailed(2, `${nameOf(file)} must hold one JSON object, as {"name": "Support", "model": "openai/gpt-5.4-mini"}`)
  return value
}

/** A list, or an agent as `show --json` prints it. What is pinned of a server is what it offered, and not for anybody to give. */
async function readTools(file: string): Promise<unknown[]> {
  const value = await readJson(file)
  const tools = isFields(value) ? value['tools'] : value
  if (!Array.isArray(tools))
    throw new CommandFailed(2, `${nameOf(file)} must hold a JSON list of tools, as [{"type": "builtin", "name": "now"}]`)
  return tools.map((tool: unknown) => (isFields(tool) ? given({ ...tool, pinned: undefined }) : tool))
}

const nameOf = (file: string): string => (file === '-' ? 'stdin' : file)

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readText(file))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandFailed(2, `${nameOf(file)} is not JSON: ${error.message}`)
  }
}

async function readText(file: string): Promise<string> {
  try {
    return file === '-' ? (await readStdin()).toString() : readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(2, `${nameOf(file)} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
