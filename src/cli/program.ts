/**
 * The commands, `npx turnkeep …`: their names and what is called for each. A command's definition and work are files of its own, loaded
 * when its name is given, so that none waits for another's modules. Exit codes: command-options.ts.
 */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Environment } from '../config.ts'
import { CommandFailed } from './command-failed.ts'
import { exitCodes } from './command-options.ts'

const commands: [name: string, description: string, load: () => Promise<{ define(command: Command, environment: Environment): void }>][] = [
  ['serve', 'run the server', () => import('./serve-command.ts')],
  ['config', 'print every setting with its value, meaning and source', () => import('./print-config.ts')],
  ['doctor', 'look for the usual troubles and say how to mend them', () => import('./doctor.ts')],
  ['verify', 'check every invariant of the stored data, also beside a running server', () => import('./verify.ts')],
  ['copy', 'move house: copy the embedded database into PostgreSQL, and prove it', () => import('./copy.ts')],
  ['backup', 'copy the database into one file, also beside a running server', () => import('./backup.ts')],
  ['owner', 'owners, whose balance pays for replies: create, list, show, rename', () => import('./owner-commands.ts')],
  ['provider', 'providers of models: create, list, show, update, delete, test', () => import('./provider-commands.ts')],
  ['agent', 'agents and their versions: create, list, show, update, enable, …', () => import('./agent-commands.ts')],
  ['document', 'what an agent knows: add a file, an address or a text, list, show, delete', () => import('./document-commands.ts')],
  ['key', 'API keys of an agent: create, list, update, revoke, rotate', () => import('./key-commands.ts')],
  ['ledger', 'entries that move a balance: add, list', () => import('./ledger-commands.ts')],
  ['usage', 'turns, tokens, charges and times by hour or day', () => import('./usage-command.ts')],
]

/** Runs one command to its end; sets the exit code, or ends the process where the words were wrong. */
export async function runProgram(argv: string[], environment: Environment): Promise<void> {
  // Whoever reads stdout may have read enough, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })
  try {
    const program = createProgram()
    for (const [name, description, load] of commands) {
      const command = program.command(name).description(description)
      if (argv.includes(name)) (await load()).define(command, environment)
    }
    await program.parseAsync(argv)
  } catch (error) {
    // A fault of ours must not end as if the command had answered no.
    if (!(error instanceof CommandFailed)) console.error(error)
    else console.error(`turnkeep: ${error.message}`)
    process.exitCode = error instanceof CommandFailed ? error.exitCode : 2
  }
}

function createProgram(): Command {
  return new Command('turnkeep')
    .description('Runs conversations with configured agents behind a REST API: every message answered once, stored once, charged once.')
    .version(readVersion(), '-V, --version', 'print the version')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'turnkeep: ')) })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .showHelpAfterError('(npx turnkeep help shows the commands; --help after a command, its flags)')
    .addHelpText('after', `\nExample:\n  npx turnkeep owner create "Acme Ltd" --balance 10.00\n\n${exitCodes}`)
}

function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}
