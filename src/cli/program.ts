/**
 * The commands, `npx turnkeep …`: their names and what is called for each. A command's definition and work are files of its own, loaded
 * when its name is given, so that none waits for another's modules. Exit codes: command-options.ts.
 */
import { readFileSync } from 'node:fs'
import { debuglog } from 'node:util'
import { Command } from 'commander'
import type { Environment } from '../config/config.ts'
import { CommandFailed } from './terminal/command-failed.ts'
import { endGroupHelp, exitCodes } from './terminal/command-options.ts'

const commands: [name: string, description: string, load: () => Promise<{ define(command: Command, environment: Environment): void }>][] = [
  ['serve', 'run the server', () => import('./serve/serve.ts')],
  ['config', 'print every setting with its value, meaning and source', () => import('./serve/print-config.ts')],
  ['doctor', 'look for the usual troubles and say how to mend them', () => import('./doctor/doctor.ts')],
  ['verify', 'check every invariant of the stored data, also beside a running server', () => import('./data/verify.ts')],
  ['copy', 'copy the embedded database into PostgreSQL, and prove that all of it arrived', () => import('./data/copy.ts')],
  ['backup', 'copy the database into one file, also beside a running server', () => import('./data/backup.ts')],
  ['apply', 'bring about what a file declares: owners, agents, keys, documents', () => import('./apply/apply-command.ts')],
  ['owner', 'owners, whose balance pays for replies: create, list, show, rename', () => import('./resources/owners.ts')],
  ['provider', 'providers of models: create, list, show, update, delete, test', () => import('./resources/providers.ts')],
  ['agent', 'agents, their versions and their tools: create, list, show, update, …', () => import('./resources/agents.ts')],
  ['document', 'what an agent knows: add, list, show, search, delete', () => import('./resources/documents.ts')],
  ['key', 'API keys of an agent: create, list, update, revoke, rotate', () => import('./resources/keys.ts')],
  ['ledger', 'entries that move a balance: add, list', () => import('./resources/ledger.ts')],
  ['chat', 'talk with an agent at this terminal, or send it one message', () => import('./chat/chat-command.ts')],
  ['conversation', 'what was said: list, show, messages, delete', () => import('./resources/conversations.ts')],
  ['turn', 'what became of a message, and what it cost: list, show', () => import('./resources/turns.ts')],
  ['usage', 'turns, tokens, charges and times by hour or day', () => import('./resources/usage.ts')],
  ['status', 'how the running service is', async () => (await import('./serve/status.ts')).status],
  ['audit', 'who changed what, newest first', async () => (await import('./serve/status.ts')).audit],
]

/** How the help shows them, each in one group. */
const groups: [title: string, names: string[]][] = [
  ['Run it:', ['serve', 'config', 'doctor', 'status']],
  ['Configure:', ['apply', 'provider', 'agent', 'document', 'key']],
  ['Money:', ['owner', 'ledger', 'usage']],
  ['Talk and look:', ['chat', 'conversation', 'turn', 'audit']],
  ['Look after it:', ['verify', 'backup', 'copy']],
]

/** Runs one command to its end; sets the exit code, or ends the process where the words were wrong. */
export async function runProgram(argv: string[], environment: Environment): Promise<void> {
  // Whoever reads stdout may have read enough, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  try {
    const program = await buildProgram(environment, (name) => argv.includes(name))
    await program.parseAsync(argv)
  } catch (error) {
    if (error instanceof CommandFailed) console.error(`turnkeep: ${error.message}`)
    else await tellFault(error)
    // A fault of ours must not end as if the command had answered no.
    process.exitCode = error instanceof CommandFailed ? error.exitCode : 2
  }
}

/** One line; the stack, for whoever mends it, where NODE_DEBUG names us. */
async function tellFault(error: unknown): Promise<void> {
  const { visible } = await import('./terminal/table.ts')
  debuglog('turnkeep')('%s', error instanceof Error ? error.stack : error)
  console.error(`turnkeep: a fault of ours: ${visible((error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' '))}`)
}

/** The words of all commands; what `isNeeded` leaves out is there by its name alone. */
export async function buildProgram(environment: Environment, isNeeded: (name: string) => boolean): Promise<Command> {
  const program = createProgram()
  const known = new Map(commands.map((command) => [command[0], command]))
  for (const [title, names] of groups) {
    for (const name of names.filter((one) => known.has(one))) {
      const [, description, load] = known.get(name)!
      const command = program.command(name).description(description).helpGroup(title)
      if (!isNeeded(name)) continue
      ;(await load()).define(command, environment)
      endGroupHelp(command)
    }
  }
  return program
}

function createProgram(): Command {
  return (
    new Command('turnkeep')
      .description('Runs conversations with configured agents behind a REST API: every message answered once, stored once, charged once.')
      .version(readVersion(), '-V, --version', 'print the version')
      .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'turnkeep: ')) })
      // Without "[options]", which all have and whose room the sentences need.
      .configureHelp({
        subcommandTerm: (command) => [command.name(), command.usage().replace('[options]', '').trim()].join(' ').trim(),
        minWidthToWrap: 20,
      })
      .commandsGroup('Help:')
      .helpCommand('help [command]', 'show the commands, or the flags and an example of one')
      .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
      .showHelpAfterError('(npx turnkeep help shows the commands; --help after a command, its flags)')
      .addHelpText('after', `\nExample:\n  npx turnkeep owner create "Acme Ltd" --balance 10.00\n\n${exitCodes}`)
  )
}

function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}
