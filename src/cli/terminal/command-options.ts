/** What all command definitions share: common options, parsers of option values, and the end of every help text. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { headerOfKey } from '../../../packages/client/src/options.ts'
import { CommandFailed } from './command-failed.ts'

/** Returns the exit codes section of a help text. `codes` are the descriptions of exit codes 0, 1, 2 and so on, each a few words. */
export const writeExitCodes = (...codes: string[]): string =>
  codes.map((text, code) => `${code === 0 ? 'Exit codes: ' : ' '.repeat(12)}${code}  ${wrapped(text)}`).join('\n')

// 80 columns, minus the 15 columns before the text.
const wrapped = (text: string): string =>
  text.replace(/(.{1,65})( |$)/g, (_, line: string, end: string) => line + (end && `\n${' '.repeat(15)}`))

export const exitCodes = writeExitCodes(
  'success',
  'refused, not found, or a check failed',
  'invalid usage, or the server or database could not be reached',
)

/** The options of a command that calls a running server. */
export type ServerOptions = { url?: string; json?: true }

/** Defines a command that calls the admin API. `example` is the command line after `npx --no-install turnkeep`. */
export function serverCommand(group: Command, usage: string, description: string, example: string): Command {
  return withServerOptions(helpEnd(group.command(usage).description(description), example))
}

export const withServerOptions = (command: Command): Command => withUrlOption(command.option('--json', 'Print the JSON of the admin API'))

/** For a command that prints no JSON of the admin API. */
export const withUrlOption = (command: Command): Command =>
  command.option('--url <url>', 'Base URL of the server (default: from TURNKEEP_ADMIN_PORT, TURNKEEP_PUBLIC_URL or PORT)')

const examples = new WeakMap<Command, string>()

export function helpEnd(command: Command, example: string, codes = exitCodes): Command {
  examples.set(command, example)
  return command.addHelpText('after', `\nExample:\n  npx --no-install turnkeep ${example}\n\n${codes}`)
}

/** Ends the help text of a command group like those of its commands, with the example of its `list` command. */
export function endGroupHelp(group: Command): void {
  const [first] = group.commands
  const shown = group.commands.find((command) => command.name() === 'list') ?? first
  if (shown) helpEnd(group.helpCommand(false), examples.get(shown)!)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** For limits of lists: with 0, a list would look empty. */
export function countFromOne(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(text)
}

/** A month as its first day, and that of the next month. */
export type Month = { from: string; to: string }

export function month(text: string): Month {
  const [, year, number] = /^(19[7-9]\d|2\d{3})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined) throw new InvalidArgumentError('It must be a month, such as 2026-10.')
  return { from: `${text}-01`, to: new Date(Date.UTC(Number(year), Number(number))).toISOString().slice(0, 10) }
}

/** The time range of a report: a month, or `from` and `to`. Throws CommandFailed with code 2 for both. */
export function rangeOf(options: { month?: Month; from?: string; to?: string }): { from?: string | undefined; to?: string | undefined } {
  const { month: whole, from, to } = options
  if (whole && (from !== undefined || to !== undefined))
    throw new CommandFailed(2, '--month is the whole time range: remove --from and --to, or --month.')
  return whole ?? { from, to }
}

export function usd(text: string): string {
  if (!/^-?\d{1,10}(\.\d{1,8})?$/.test(text)) throw new InvalidArgumentError('It must be an amount in USD, such as 10.50.')
  return text
}

/** `idempotency.key-text`: a key that a header can carry. */
export function keyText(text: string): string {
  try {
    headerOfKey(text)
    return text
  } catch {
    throw new InvalidArgumentError('It must not be empty, begin or end with a blank, or have control characters.')
  }
}

export function anyNumber(text: string): number {
  if (text.trim() === '' || !Number.isFinite(Number(text))) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}

/** Drops undefined fields, so that a PATCH leaves the fields unchanged that were not given. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
