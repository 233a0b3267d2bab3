/** The fields of an agent as a command gives them: a JSON file in the API's own words, and flags for the usual ones, which win. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { isFields } from './admin-client.ts'
import type { Fields } from './admin-client.ts'
import { CommandFailed } from './command-failed.ts'
import { anyNumber, given, wholeNumber } from './command-options.ts'

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
}

/** Throws CommandFailed with code 2 for a file that cannot be read. */
export function readAgentFields(flags: AgentFlags): Fields {
  const { promptPrice, completionPrice, systemPromptFile } = flags
  if (flags.systemPrompt !== undefined && systemPromptFile !== undefined)
    throw new CommandFailed(2, 'give --system-prompt or --system-prompt-file, not both')
  const price = given({ prompt_usd_per_million: promptPrice, completion_usd_per_million: completionPrice })
  return {
    ...(flags.file === undefined ? {} : readJson(flags.file)),
    ...given({
      name: flags.name,
      system_prompt: systemPromptFile === undefined ? flags.systemPrompt : readText(systemPromptFile).trimEnd(),
      model: flags.model,
      price: Object.keys(price).length > 0 ? price : undefined,
      max_output_tokens: flags.maxOutputTokens,
      temperature: flags.temperature,
    }),
  }
}

function readJson(file: string): Fields {
  let value: unknown
  try {
    value = JSON.parse(readText(file))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandFailed(2, `${file} is not JSON: ${error.message}`)
  }
  if (!isFields(value))
    throw new CommandFailed(2, `${file} must hold one JSON object, as {"name": "Support", "model": "openai/gpt-5.4-mini"}`)
  return value
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new CommandFailed(2, `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
