/** Reads the fields of an agent from a JSON file with the field names of the API and from options. Options override the file. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { anyNumber, given, usd, wholeNumber } from '../terminal/command-options.ts'
import { parseJson } from '../terminal/json-input.ts'
import { readStdin } from '../terminal/stdin.ts'

export type AgentFlags = {
  file?: string
  name?: string
  systemPrompt?: string
  systemPromptFile?: string
  model?: string
  promptPrice?: string
  completionPrice?: string
  cachedPromptPrice?: string
  cacheWritePrice?: string
  maxOutputTokens?: number
  temperature?: number
  tools?: string
}

/** `isNew`: the help says which options a new agent needs. */
export function withAgentFlags(command: Command, isNew: boolean): Command {
  const required = (alternative = ''): string => (isNew ? ` (required${alternative})` : '')
  return command
    .option('-f, --file <file>', 'JSON file with fields of the API; - reads stdin')
    .option('--name <name>', `Name of the agent${required()}`)
    .option('--system-prompt <text>', `System prompt${required(', or --system-prompt-file')}`)
    .option('--system-prompt-file <file>', 'Text file with the system prompt')
    .option('--model <provider/model>', `Name of a provider, a slash, and the ID of the model${required()}`)
    .option('--prompt-price <usd>', 'Price in USD per million prompt tokens; requires --completion-price', usd)
    .option('--completion-price <usd>', 'Price in USD per million completion tokens', usd)
    .option('--cached-prompt-price <usd>', 'Price in USD per million prompt tokens read from a cache; default: --prompt-price', usd)
    .option('--cache-write-price <usd>', 'Price in USD per million prompt tokens written to a cache; default: --prompt-price', usd)
    .option('--max-output-tokens <count>', 'Maximum length of a reply in tokens', wholeNumber)
    .option('--temperature <number>', 'Temperature from 0 to 2', anyNumber)
    .option('--tools <file>', 'JSON file with the list of tools, which replaces the current tools; - reads stdin')
}

/** Throws CommandFailed with code 2 for conflicting options and for a file that cannot be read. */
export async function readAgentFields(run: CommandRun, flags: AgentFlags): Promise<Fields> {
  const { promptPrice, completionPrice, systemPromptFile } = flags
  if (flags.systemPrompt !== undefined && systemPromptFile !== undefined)
    throw new CommandFailed(2, '--system-prompt and --system-prompt-file cannot be used together')
  if ([flags.file, flags.systemPromptFile, flags.tools].filter((file) => file === '-').length > 1)
    throw new CommandFailed(2, 'only one option can read stdin')
  const price = given({
    prompt_usd_per_million: promptPrice,
    completion_usd_per_million: completionPrice,
    cached_prompt_usd_per_million: flags.cachedPromptPrice,
    cache_write_usd_per_million: flags.cacheWritePrice,
  })
  return {
    ...(flags.file === undefined ? {} : await readFields(run, flags.file)),
    ...given({
      name: flags.name,
      system_prompt: systemPromptFile === undefined ? flags.systemPrompt : (await readText(run, systemPromptFile)).trimEnd(),
      model: flags.model,
      price: Object.keys(price).length > 0 ? price : undefined,
      max_output_tokens: flags.maxOutputTokens,
      temperature: flags.temperature,
      tools: flags.tools === undefined ? undefined : await readTools(run, flags.tools),
    }),
  }
}

const requiredOptions = {
  owner_id: '--owner',
  name: '--name',
  system_prompt: '--system-prompt (or --system-prompt-file)',
  model: '--model',
}

/** Throws CommandFailed with code 2 that names everything that a new agent needs and that is missing. */
export function refuseMissing(fields: Fields): void {
  const missing = Object.entries(requiredOptions).flatMap(([field, option]) => (fields[field] === undefined ? [option] : []))
  if (missing.length > 0)
    throw new CommandFailed(2, `missing options: ${missing.join(', ')}. They can also be fields of the file of --file.`)
}

async function readFields(run: CommandRun, file: string): Promise<Fields> {
  const value = await readJson(run, file)
  if (!isFields(value))
    throw new CommandFailed(2, `${nameOf(file)} must contain a JSON object, such as {"name": "Support", "model": "openai/gpt-5.4-mini"}`)
  return value
}

/**
 * Reads a list of tools, or an agent as `agent show --json` prints it. Pinned tools are dropped: they come from the MCP server and cannot
 * be set by a client.
 */
async function readTools(run: CommandRun, file: string): Promise<unknown[]> {
  const value = await readJson(run, file)
  const tools = isFields(value) ? value['tools'] : value
  if (!Array.isArray(tools))
    throw new CommandFailed(2, `${nameOf(file)} must contain a JSON list of tools, such as [{"type": "builtin", "name": "now"}]`)
  return tools.map((tool: unknown) => (isFields(tool) ? given({ ...tool, pinned: undefined, unusable: undefined }) : tool))
}

const nameOf = (file: string): string => (file === '-' ? 'stdin' : file)

async function readJson(run: CommandRun, file: string): Promise<unknown> {
  return parseJson(await readText(run, file), nameOf(file))
}

async function readText(run: CommandRun, file: string): Promise<string> {
  try {
    return file === '-' ? (await readStdin(run)).toString() : readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(2, `cannot read ${nameOf(file)}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
