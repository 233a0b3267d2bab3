/** What the commands' definitions share: the flags that every one takes, how a flag's text is read, and the end of every help text. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'

/** By what a program can tell how a command ended; `codes` in their order from 0, each a few words. */
export const writeExitCodes = (...codes: string[]): string =>
  codes.map((says, code) => `${code === 0 ? 'Exit codes: ' : ' '.repeat(12)}${code}  ${wrapped(says)}`).join('\n')

// A terminal of 80 columns, less the 15 before them.
const wrapped = (says: string): string =>
  says.replace(/(.{1,65})( |$)/g, (_, line: string, end: string) => line + (end && `\n${' '.repeat(15)}`))

export const exitCodes = writeExitCodes('done', 'the answer is no: refused, not found, broken', 'wrong usage, or nothing could be reached')

/** The flags of a command that asks a running server. */
export type ServerOptions = { url?: string; json?: true }

/** A command on top of the admin API. `example` is what follows `npx turnkeep`. */
export function serverCommand(group: Command, usage: string, description: string, example: string): Command {
  return withServerOptions(helpEnd(group.command(usage).description(description), example))
}

export function withServerOptions(command: Command): Command {
  return command
    .option('--json', "print the API's JSON")
    .option('--url <address>', 'the server; default: from TURNKEEP_ADMIN_PORT, TURNKEEP_PUBLIC_URL or PORT')
}

const examples = new WeakMap<Command, string>()

export function helpEnd(command: Command, example: string, codes = exitCodes): Command {
  examples.set(command, example)
  return command.addHelpText('after', `\nExample:\n  npx turnkeep ${example}\n\n${codes}`)
}

/** The help of a command that is a group of others ends as theirs does, with the example of its list. */
export function endGroupHelp(group: Command): void {
  const [first] = group.commands
  const shown = group.commands.find((command) => command.name() === 'list') ?? first
  if (shown) helpEnd(group.helpCommand(false), examples.get(shown)!)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

export function anyNumber(text: string): number {
  if (text.trim() === '' || !Number.isFinite(Number(text))) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}

/** Only what was given, so that what was not stays as it is. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
