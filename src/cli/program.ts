/**
 * Defines the commands of `npx --no-install turnkeep`. Each command lives in its own file, which is imported only when the command is used, so that no
 * command pays for the modules of another. Exit codes: command-options.ts.
 */
import { debuglog } from 'node:util'
import { Command, CommanderError } from 'commander'
import type { CommandRun, ExitCode, Output } from './command-run.ts'
import { CommandFailed } from './terminal/command-failed.ts'
import { endGroupHelp, exitCodes } from './terminal/command-options.ts'
import { readVersion } from './terminal/own-version.ts'

const commands: [name: string, description: string, load: () => Promise<{ define(command: Command, run: CommandRun): void }>][] = [
  ['serve', 'Run the server', () => import('./serve/serve.ts')],
  ['config', 'Show every setting with its value, source and description', () => import('./serve/print-config.ts')],
  ['doctor', 'Check for common problems and show how to fix them', () => import('./doctor/doctor.ts')],
  ['verify', 'Check every invariant of the stored data, even while the server runs', () => import('./data/verify.ts')],
  ['copy', 'Migrate to PostgreSQL: copy the SQLite database and verify the copy', () => import('./data/copy.ts')],
  ['backup', 'Back up the database to a file, even while the server runs', () => import('./data/backup.ts')],
  ['apply', 'Create or update owners, agents, keys and documents from a file', () => import('./apply/apply-command.ts')],
  ['owner', 'Manage owners, whose balance pays for replies', () => import('./resources/owners.ts')],
  ['provider', 'Manage model providers and their API keys', () => import('./resources/providers.ts')],
  ['agent', 'Manage agents, their versions and their tools', () => import('./resources/agents.ts')],
  ['document', "Manage the documents of an agent's knowledge base", () => import('./resources/documents.ts')],
  ['key', 'Manage the API keys of an agent', () => import('./resources/keys.ts')],
  ['ledger', 'Add and list ledger entries', () => import('./resources/ledger.ts')],
  ['limit', 'Manage spend limits, and show what is spent under them', () => import('./resources/spend-limits.ts')],
  ['chat', 'Chat with an agent in the terminal, or send one message', () => import('./chat/chat-command.ts')],
  ['mcp', 'Serve an agent as an MCP server on stdin and stdout', () => import('./mcp/mcp-command.ts')],
  ['conversation', 'List, read and delete conversations', () => import('./resources/conversations.ts')],
  ['turn', 'Show, follow and cancel turns', () => import('./resources/turns.ts')],
  ['webhook', 'Manage webhooks and what was delivered to them', () => import('./resources/webhooks.ts')],
  ['feedback', 'List the feedback of end users on turns', () => import('./resources/feedback.ts')],
  ['end-user', 'List, show and export the end users of an agent', () => import('./resources/end-users.ts')],
  ['usage', 'Show turns, tokens, charges and latency by time, agent or user', () => import('./resources/usage.ts')],
  ['status', 'Show the status of the running server', () => import('./serve/status.ts')],
  ['audit', 'List the audit log, newest first: changes, and who read messages', () => import('./resources/audit.ts')],
  ['operator', 'Manage the people who sign in to the console', () => import('./resources/operators.ts')],
  ['token', 'Manage tokens for programs', () => import('./resources/admin-tokens.ts')],
]

/** The groups of the help text. Each command belongs to exactly one group. */
const groups: [title: string, names: string[]][] = [
  ['Server:', ['serve', 'config', 'doctor', 'status']],
  ['Configuration:', ['apply', 'provider', 'agent', 'document', 'key', 'webhook']],
  ['Billing:', ['owner', 'ledger', 'limit', 'usage']],
  ['Conversations:', ['chat', 'mcp', 'conversation', 'turn', 'end-user', 'feedback']],
  ['Access:', ['operator', 'token', 'audit']],
  ['Maintenance:', ['verify', 'backup', 'copy']],
]

/** Runs the command of these words, which come after `turnkeep` on the command line, and returns its exit code. Never rejects. */
export async function runProgram(words: string[], run: CommandRun): Promise<ExitCode> {
  try {
    const program = await buildProgram(run, (name) => words.includes(name))
    await program.parseAsync(withHelpFlag(program, words), { from: 'user' })
    return run.exitCode
  } catch (error) {
    // Help and the version end the parser like invalid usage. It has already printed all three.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof CommandFailed) run.stderr.write(`turnkeep: ${error.message}\n`)
    else await printInternalError(run, error)
    // An internal error must not look like exit code 1, which means that the command worked and the answer is no.
    return error instanceof CommandFailed ? error.exitCode : 2
  }
}

/** `help agent create` becomes `agent create --help`, because the help command of the library shows only the group. */
function withHelpFlag(program: Command, words: string[]): string[] {
  const [help, ...names] = words
  if (help !== 'help' || names.length < 2) return words
  let command = program
  for (const name of names) {
    const next = command.commands.find((one) => one.name() === name)
    if (!next) return command.error(`error: unknown command '${name}'`)
    command = next
  }
  return [...names, '--help']
}

/** Prints one line, and the stack trace if NODE_DEBUG includes `turnkeep`. */
async function printInternalError(run: CommandRun, error: unknown): Promise<void> {
  const { escapeForTerminal } = await import('./terminal/table.ts')
  debuglog('turnkeep')('%s', error instanceof Error ? error.stack : error)
  const message = escapeForTerminal((error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' '))
  run.stderr.write(`turnkeep: internal error: ${message} (run again with NODE_DEBUG=turnkeep for the stack trace)\n`)
}

/** Builds the program. Commands for which `isNeeded` returns false are listed in the help but have no options and no action. */
export async function buildProgram(run: CommandRun, isNeeded: (name: string) => boolean): Promise<Command> {
  const program = createProgram(run)
  const known = new Map(commands.map((command) => [command[0], command]))
  for (const [title, names] of groups) {
    for (const name of names.filter((one) => known.has(one))) {
      const [, description, load] = known.get(name)!
      const command = program.command(name).description(description).helpGroup(title)
      if (!isNeeded(name)) continue
      ;(await load()).define(command, run)
      endGroupHelp(command)
    }
  }
  return program
}

// Outside a terminal, and at one that does not know its size.
const helpWidth = ({ isTTY, columns }: Output): number => (isTTY && columns) || 80

function createProgram({ stdout, stderr }: CommandRun): Command {
  return (
    new Command('turnkeep')
      .description('Run AI agents behind a REST API: every message is answered once, stored once and charged once.')
      .version(readVersion(), '-V, --version', 'Show the version')
      .configureOutput({
        writeOut: (text) => void stdout.write(text),
        writeErr: (text) => void stderr.write(text),
        getOutHelpWidth: () => helpWidth(stdout),
        getErrHelpWidth: () => helpWidth(stderr),
        // The help has no colors.
        getOutHasColors: () => false,
        getErrHasColors: () => false,
        outputError: (text, write) => write(text.replace(/^error: /, 'turnkeep: ')),
      })
      // Every command has options, so "[options]" would only take space from the descriptions.
      .configureHelp({
        subcommandTerm: (command) => [command.name(), command.usage().replace('[options]', '').trim()].join(' ').trim(),
        minWidthToWrap: 20,
      })
      .commandsGroup('Help:')
      .helpCommand('help [command]', 'Show help for turnkeep or for a command')
      .helpOption('-h, --help', 'Show help')
      .exitOverride()
      .showHelpAfterError('Run "npx --no-install turnkeep help" for a list of commands, or a command with --help for its options.')
      .addHelpText('after', `\nExample:\n  npx --no-install turnkeep owner create "Acme Ltd" --balance 10.00\n\n${exitCodes}`)
  )
}
