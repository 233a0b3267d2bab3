/** What the commands' definitions share: the flags that every one takes, how a flag's text is read, and the end of every help text. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'

export const exitCodes = 'Exit codes: 0 done · 1 the answer is no: refused, not found, broken · 2 wrong usage, or nothing could be reached.'

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

export function helpEnd(command: Command, example: string, codes = exitCodes): Command {
  return command.addHelpText('after', `\nExample:\n  npx turnkeep ${example}\n\n${codes}`)
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
