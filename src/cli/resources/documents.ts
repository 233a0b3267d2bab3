/**
 * `turnkeep document`: manages the documents of an agent. The server indexes a document after it has accepted it; `--wait` waits for that.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findId, pathOfAgent } from '../admin-api/names.ts'
import { warningsOf } from '../admin-api/document-warnings.ts'
import { documentsPath } from '../admin-api/paths.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { countFromOne, given, serverCommand } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { listOf, printList, printRecord, printTable, tell, write } from '../terminal/print.ts'
import { showProgress } from '../data/progress.ts'
import { shortened, escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import { addDocument, documentPath, listDocuments } from './add-documents.ts'
import type { Added, AddWish } from './add-documents.ts'
import { expandSources } from './document-sources.ts'
import type { Source } from './document-sources.ts'

const columns: Column[] = [
  { title: 'ID', path: 'id', as: 'id' },
  { title: 'status', path: 'status' },
  { title: 'chunks', path: 'chunks', as: 'number' },
  { title: 'warnings', path: 'warning_count', as: 'number' },
  { title: 'bytes', path: 'bytes', as: 'number' },
  { title: 'updated (UTC)', path: 'updated_at', as: 'time' },
  { title: 'title', path: 'title' },
]
const addedColumns: Column[] = [
  { title: 'action', path: 'action' },
  { title: 'ID', path: 'document.id', as: 'id' },
  { title: 'status', path: 'document.status' },
  { title: 'source', path: 'source' },
]
const passageColumns: Column[] = [
  { title: 'score', path: 'score', as: 'number' },
  { title: 'title', path: 'title' },
  { title: 'section', path: 'section' },
  { title: 'text', path: 'text' },
]

type AddOptions = ServerOptions & { title?: string; replace?: string; wait?: true }

const example = 'Support handbook.pdf'

export function define(group: Command, run: CommandRun): void {
  const client = (options: ServerOptions) => createAdminClient(run.environment, options)

  serverCommand(
    group,
    'add <agent> <sources...>',
    'Add documents, replace those of the same name, and skip unchanged ones',
    'document add Support handbook.pdf docs/ --wait',
  )
    .addHelpText(
      'before',
      'Sources are files (md, txt, html, pdf, docx), folders, glob patterns, https\nURLs, and - for text from stdin.\n',
    )
    .option('--title <title>', 'Title shown in citations; required for stdin')
    .option('--replace <document>', 'Replace this document, which stays searchable until the new one is indexed')
    .option('--wait', 'Wait until the documents are indexed; exit with 1 if one cannot be read')
    .action((agent: string, sources: string[], options: AddOptions) => add(run, client(options), agent, sources, options))

  serverCommand(group, 'list <agent>', 'List the documents of an agent, newest first', 'document list Support')
    .option('--limit <count>', 'Maximum number of results', countFromOne)
    .action(async (agent: string, options: ServerOptions & { limit?: number }) => {
      const server = client(options)
      const path = documentsPath(await findId(server, 'agent', agent))
      await printList(run, server, path, columns, { ...options, rowOf: withWarningCount })
    })

  serverCommand(group, 'show <agent> <document>', 'Show a document and its indexing status', `document show ${example} --chunks`)
    .option('--chunks', 'Show the text that searches can find, instead')
    .action(async (agent: string, document: string, { chunks, ...options }: ServerOptions & { chunks?: true }) => {
      const server = client(options)
      const path = await pathOf(server, agent, document)
      return chunks ? printChunks(run, server, `${path}/chunks`, options) : printRecord(run, await server.call('GET', path), options)
    })

  serverCommand(
    group,
    'search <agent> <query>',
    'Show the passages that the agent would get for a query, best first',
    'document search Support "return a parcel"',
  )
    .option('--limit <count>', 'Maximum number of passages (default: the top_k of the agent)', countFromOne)
    .action(async (agent: string, query: string, { limit, ...options }: ServerOptions & { limit?: number }) => {
      const server = client(options)
      const found = await server.call('POST', `${await pathOfAgent(server, agent)}/search`, { body: { query, ...given({ limit }) } })
      if (options.json) return printRecord(run, found, options)
      const passages = listOf(found).map((one) => ({ ...one, score: Number(one['score']).toFixed(3), text: shortened(one['text']) }))
      return printTable(run, passageColumns, passages, 'No passages found.')
    })

  serverCommand(group, 'delete <agent> <document>', 'Delete a document immediately', `document delete ${example}`).action(
    async (agent: string, document: string, options: ServerOptions) => {
      const server = client(options)
      await server.call('DELETE', await pathOf(server, agent, document))
      tell(run, `Deleted document ${escapeForTerminal(document)}`)
    },
  )
}

const withWarningCount = (document: Fields): Fields => ({ ...document, warning_count: warningsOf(document).length })

/** Says what was not read of a document. */
function tellWarnings(run: CommandRun, name: string, document: Fields): void {
  for (const message of warningsOf(document)) tell(run, `Warning: ${escapeForTerminal(name)}: ${escapeForTerminal(message)}`)
}

/** The path of a document that is given by ID, title or file name. Throws CommandFailed with code 1. */
async function pathOf(server: AdminClient, agent: string, document: string): Promise<string> {
  const agentId = await findId(server, 'agent', agent)
  return documentPath(agentId, await findId(server, 'document', document, agentId))
}

async function add(
  run: CommandRun,
  server: AdminClient,
  agent: string,
  wanted: string[],
  { title, replace, wait, ...options }: AddOptions,
): Promise<void> {
  const { sources, isOne } = expandSources(wanted)
  if (!isOne && (title !== undefined || replace !== undefined))
    throw new CommandFailed(2, '--title and --replace can be used with one file, URL or stdin only')
  if (title === undefined && sources.some(({ kind }) => kind === 'stdin')) throw new CommandFailed(2, 'text from stdin requires --title')
  const agentId = await findId(server, 'agent', agent)
  const replaced = replace === undefined ? undefined : await findId(server, 'document', replace, agentId)
  const wish = { agentId, title, replace: replaced }
  if (isOne) await addOne(run, server, sources[0]!, wish, { ...options, wait })
  else await addAll(run, server, sources, wish, { ...options, wait })
}

type Output = ServerOptions & { wait: true | undefined }

async function addOne(run: CommandRun, server: AdminClient, source: Source, wish: AddWish, { wait, ...options }: Output): Promise<void> {
  const present = wish.replace === undefined ? await listDocuments(server, wish.agentId) : []
  const { action, document: taken } = await addDocument(run, server, source, present, wish)
  if (action === 'unchanged') tell(run, 'The document has not changed.')
  if (action === 'replaced' && wish.replace === undefined) tell(run, 'Replaced the document of the same name.')
  const document = wait ? await waitFor(run, server, wish.agentId, taken) : taken
  await printRecord(run, document, options)
  tellWarnings(run, source.name, document)
  if (document['status'] === 'failed') throw new CommandFailed(1, `cannot read the document: ${String(document['reason'])}`)
}

/** A document that the server refuses does not stop the others. If the server cannot be reached, prints what was added until then. */
async function addAll(run: CommandRun, server: AdminClient, sources: Source[], wish: AddWish, { wait, ...options }: Output): Promise<void> {
  const present = await listDocuments(server, wish.agentId)
  const done: Added[] = []
  const failed: string[] = []
  let stopped: CommandFailed | undefined
  const progress = showProgress(undefined, run.stderr)
  for (const [index, source] of sources.entries()) {
    progress.tell({ phase: 'uploading', part: escapeForTerminal(source.name), done: index, of: sources.length })
    try {
      done.push(await addDocument(run, server, source, present, wish))
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      failed.push(`cannot add ${escapeForTerminal(source.name)}: ${error.message}`)
      if (error.exitCode === 1) continue
      stopped = error
      break
    }
  }
  progress.end()
  if (wait && !stopped)
    for (const one of done) {
      one.document = await waitFor(run, server, wish.agentId, one.document)
      tellWarnings(run, one.source, one.document)
      const { status, reason } = one.document
      if (status === 'failed') failed.push(`cannot read ${escapeForTerminal(one.source)}: ${String(reason)}`)
    }
  if (options.json) await printRecord(run, { data: done }, options)
  else await printTable(run, addedColumns, done, 'No documents were added.')
  if (failed.length > 0) throw new CommandFailed(stopped ? 2 : 1, failed.join('\nturnkeep: '))
}

/** Prints each chunk with its number and its headings. */
async function printChunks(run: CommandRun, server: AdminClient, path: string, { json }: ServerOptions): Promise<void> {
  if (json) return printList(run, server, path, [], { json })
  let count = 0
  for await (const { data } of server.pages(path)) {
    for (const { position, section, text } of data) {
      const heading = section === undefined ? '' : ` ${escapeForTerminal(String(section))}`
      await write(run, `${count++ === 0 ? '' : '\n'}[${Number(position) + 1}]${heading}\n${escapeForTerminal(String(text), true)}\n`)
    }
  }
  if (count === 0) tell(run, 'No chunks. Searches find the document when its status is ready.')
}

// A small document is indexed within this time, and a large one causes only 60 requests per minute.
const askEveryMs = 1000

async function waitFor(run: CommandRun, server: AdminClient, agentId: string, taken: Fields): Promise<Fields> {
  const path = documentPath(agentId, String(taken['id']))
  const progress = showProgress(undefined, run.stderr)
  try {
    for (let document = taken; ;) {
      const { status, progress: share, title } = document
      if (status !== 'queued' && status !== 'indexing') return document
      progress.tell({ phase: String(status), part: escapeForTerminal(String(title)), done: typeof share === 'number' ? share : 0, of: 100 })
      await sleep(askEveryMs)
      document = await server.call('GET', path)
    }
  } finally {
    progress.end()
  }
}
