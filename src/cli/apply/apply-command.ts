/**
 * `turnkeep apply -f agents.yaml`: what files declare, brought about. Shows the difference first; changes nothing that the difference does not
 * show; takes nothing away without --prune. Surfaces: Commands.
 */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
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
import { waitForDocuments } from './wait.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { helpEnd, writeExitCodes } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { tell, write } from '../terminal/print.ts'
import { showProgress } from '../data/progress.ts'
import { visible } from '../terminal/table.ts'

type Flags = ServerOptions & {
  file: string[]
  dryRun?: true
  exitCode?: true
  prune?: true
  secrets?: true
  wait?: true
  yes?: true
}

export function define(command: Command, environment: Environment): void {
  helpEnd(
    command
      .requiredOption('-f, --file <file>', 'YAML or JSON; - reads stdin; given again, one declaration with the others', gather)
      .option('--dry-run', 'show the difference, change nothing')
      .option('--exit-code', 'with --dry-run: exit 1 where something differs')
      .option('--prune', 'revoke keys and delete documents that the lists of the file do not name')
      .option('--secrets', 'send API keys of providers, and values of headers and secrets, again: they cannot be compared')
      .option('--wait', 'until the documents can be found; exit 1 where one cannot be read')
      .option('-y, --yes', 'do not ask before --prune takes something away')
      .option('--json', 'print the changes as JSON')
      .option('--url <address>', 'the server; default: from TURNKEEP_ADMIN_PORT, TURNKEEP_PUBLIC_URL or PORT'),
    'apply -f agents.yaml --dry-run',
    writeExitCodes(
      'done, or nothing to do',
      'refused, stopped in the middle, or a document that cannot be read; with --exit-code: something differs',
      'the files are wrong, or nothing could be reached; nothing was changed',
    ),
  ).action((flags: Flags) => apply(flags, environment))
}

const gather = (file: string, former: string[] = []): string[] => [...former, file]

async function apply(flags: Flags, environment: Environment): Promise<void> {
  const { file: files, dryRun = false, exitCode = false, json = false, prune = false, wait = false } = flags
  if (exitCode && !dryRun) throw new CommandFailed(2, '--exit-code is of --dry-run')
  const declaration = await readDeclaration(files)
  const client = createAdminClient(environment, flags)
  const plan = await makePlan(declaration, { client, environment, prune, secretsAgain: flags.secrets ?? false })
  const work = inOrder(plan.items)
  const report = createReport(plan, work, { json })

  if (!json) await write(`${[...planLines(plan.items), ...(work.length > 0 ? [''] : []), ...summaryLines(plan)].join('\n')}\n`)
  for (const note of plan.notes) tell(visible(note))
  if (dryRun) {
    await report.end(false)
    if (exitCode && work.length > 0) process.exitCode = 1
    return
  }
  const taken = work.filter(({ action }) => action === 'delete')
  if (taken.length > 0 && !flags.yes) await askFirst(taken, files)

  let applied = false
  try {
    await doAll(work, plan, client, report)
    applied = true
    if (wait) await waitForAll(plan, client)
  } finally {
    await report.end(applied)
  }
}

/** Throws CommandFailed with code 1 where it stops in the middle, for whatever reason: 2 is the word for "nothing was changed". */
async function doAll(work: Item[], { known }: Plan, client: AdminClient, report: Report): Promise<void> {
  const uploads = work.filter(({ kind, action }) => kind === 'document' && action !== 'delete')
  const progress = showProgress(undefined)
  const doing: Doing = {
    client,
    known,
    made: new Set(),
    others: new Map(),
    begins: (item) => progress.tell({ phase: 'sending', part: visible(item.name), done: uploads.indexOf(item), of: uploads.length }),
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
      throw new CommandFailed(1, visible(stoppedWords(item, error, work.slice(index)), true))
    }
  }
}

/** Throws CommandFailed with code 1. */
async function waitForAll(plan: Plan, client: AdminClient): Promise<void> {
  const progress = showProgress(undefined)
  const failed = await waitForDocuments(plan.items, client, progress).catch((error: unknown) => {
    progress.end()
    throw new CommandFailed(1, `all that is declared is there; waiting for the documents stopped: ${causeOf(error)}`)
  })
  if (failed.length > 0) throw new CommandFailed(1, failed.join('\n'))
}

/** Elsewhere than at a terminal --prune is word enough. */
async function askFirst(taken: Item[], files: string[]): Promise<void> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return
  if (files.includes('-')) throw new CommandFailed(2, 'stdin is the declaration, so nobody can be asked: --yes says that it is meant')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new AbortController()
  terminal.once('close', () => ended.abort())
  const answer = await terminal.question(`Take away ${counted(taken)}, for good? [y/N] `, { signal: ended.signal }).catch(() => '')
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed(1, 'nothing was applied')
}
