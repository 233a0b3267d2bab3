/**
 * `turnkeep apply -f agents.yaml`: makes the server match the declaration in files. Shows the plan first, changes nothing that is not in
 * the plan, and deletes nothing without --prune. See docs/operate/apply.md.
 */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { carryOut, inOrder, stoppedWords } from './carry-out.ts'
import type { Doing } from './carry-out.ts'
import { readDeclaration } from './declaration.ts'
import type { Item, Plan } from './item.ts'
import { makePlan } from './plan.ts'
import { createReport } from './report.ts'
import type { Report } from './report.ts'
import { counted, planLines, summaryLines } from './show-plan.ts'
import type { Paint } from './show-plan.ts'
import { waitForDocuments } from './wait.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { tell, write } from '../terminal/print.ts'
import { styled } from '../terminal/style.ts'
import { showProgress } from '../data/progress.ts'
import { escapeForTerminal } from '../terminal/table.ts'

type Flags = ServerOptions & {
  file: string[]
  dryRun?: true
  exitCode?: true
  prune?: true
  secrets?: true
  wait?: true
  yes?: true
}

export function define(command: Command, run: CommandRun): void {
  helpEnd(
    command
      .requiredOption('-f, --file <file>', 'YAML or JSON file; - reads stdin; can be repeated', gather)
      .option('--dry-run', 'Show the changes without applying them')
      .option('--exit-code', 'With --dry-run: exit with 1 if there are changes')
      .option('--prune', 'Revoke keys and delete documents that are missing from the lists of the file')
      .option('--secrets', 'Send all API keys, headers and secrets again; stored values cannot be compared')
      .option('--wait', 'Wait until documents are indexed; fail if one cannot be read')
      .option('-y, --yes', 'Delete without confirmation, with --prune')
      .option('--json', 'Print the changes as JSON')
      .option('--url <url>', 'Base URL of the server (default: from TURNKEEP_ADMIN_PORT, TURNKEEP_PUBLIC_URL or PORT)'),
    'apply -f agents.yaml --dry-run',
    writeExitCodes(
      'success, or no changes',
      'with --exit-code: there are changes',
      'any error; the message says whether something was applied',
    ),
  ).action((flags: Flags) => apply(run, flags).catch(asError))
}

/** Every error of `apply` has exit code 2, because 1 means that there are changes. */
function asError(error: unknown): never {
  throw error instanceof CommandFailed ? new CommandFailed(2, error.message) : error
}

const gather = (file: string, earlier: string[] = []): string[] => [...earlier, file]

async function apply(run: CommandRun, flags: Flags): Promise<void> {
  const { file: files, dryRun = false, exitCode = false, json = false, prune = false, wait = false } = flags
  if (exitCode && !dryRun) throw new CommandFailed(2, '--exit-code requires --dry-run')
  const declaration = await readDeclaration(run, files)
  const { environment } = run
  const client = createAdminClient(environment, flags)
  const plan = await makePlan(declaration, { client, environment, prune, secretsAgain: flags.secrets ?? false })
  const work = inOrder(plan.items)
  const paint: Paint = (color, text) => styled(run, color, text)
  const report = createReport(run, plan, work, { json })

  if (!json) await write(run, `${[...planLines(plan.items, paint), ...(work.length > 0 ? [''] : []), ...summaryLines(plan)].join('\n')}\n`)
  for (const note of plan.notes) tell(run, escapeForTerminal(note))
  if (dryRun) {
    await report.end(false)
    if (exitCode && work.length > 0) run.exitCode = 1
    return
  }
  const taken = work.filter(({ action }) => action === 'delete')
  if (taken.length > 0 && !flags.yes) await askFirst(run, taken, files)

  let applied = false
  try {
    await doAll(run, work, plan, client, report)
    applied = true
    if (wait) await waitForAll(run, plan, client)
  } finally {
    await report.end(applied)
  }
}

/** Throws CommandFailed if it stops midway for any reason. */
async function doAll(run: CommandRun, work: Item[], { known }: Plan, client: AdminClient, report: Report): Promise<void> {
  const uploads = work.filter(({ kind, action }) => kind === 'document' && action !== 'delete')
  const progress = showProgress(undefined, run.stderr)
  const doing: Doing = {
    client,
    known,
    made: new Set(),
    others: new Map(),
    begins: (item) =>
      progress.tell({ phase: 'uploading', part: escapeForTerminal(item.name), done: uploads.indexOf(item), of: uploads.length }),
    async done(...what) {
      progress.end()
      await report.done(...what)
    },
  }
  report.begin()
  for (const [index, item] of work.entries()) {
    try {
      await carryOut(item, doing)
    } catch (error) {
      progress.end()
      throw new CommandFailed(2, escapeForTerminal(stoppedWords(item, error, work.slice(index)), true))
    }
  }
}

/** Throws CommandFailed if a document cannot be read. */
async function waitForAll(run: CommandRun, plan: Plan, client: AdminClient): Promise<void> {
  const progress = showProgress(undefined, run.stderr)
  const onWarning = (line: string): void => tell(run, `Warning: ${line}`)
  const failed = await waitForDocuments(plan.items, client, { progress, onWarning }).catch((error: unknown) => {
    progress.end()
    throw new CommandFailed(2, `all changes were applied, but cannot wait for the documents: ${causeOf(error)}`)
  })
  if (failed.length > 0) throw new CommandFailed(2, failed.join('\n'))
}

/** Asks for confirmation on a terminal. Without a terminal, --prune is enough. Throws CommandFailed if the user declines. */
async function askFirst({ stdin, stdout, stderr }: CommandRun, taken: Item[], files: string[]): Promise<void> {
  if (!stdin.isTTY || !stdout.isTTY) return
  if (files.includes('-'))
    throw new CommandFailed(2, 'cannot ask for confirmation, because the declaration is read from stdin: add --yes to confirm')
  const terminal = createInterface({ input: stdin, output: stderr })
  const ended = new AbortController()
  terminal.once('close', () => ended.abort())
  const answer = await terminal.question(`Permanently delete ${counted(taken)}? [y/N] `, { signal: ended.signal }).catch(() => '')
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed(2, 'nothing was applied')
}
