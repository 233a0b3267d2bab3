/**
 * `turnkeep document`: manages the documents of an agent. The server indexes a document after it has accepted it; `--wait` waits for that.
 */
import { openAsBlob, statSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Call, Fields } from '../admin-api/client.ts'
import { agentPath, documentsPath } from '../admin-api/paths.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { given, serverCommand, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { listOf, printList, printRecord, printTable, tell } from '../terminal/print.ts'
import { showProgress } from '../data/progress.ts'
import { readStdin } from '../terminal/stdin.ts'
import { shortened, visible } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

const columns: Column[] = [
  { title: 'id', path: 'id' },
  { title: 'status', path: 'status' },
  { title: 'chunks', path: 'chunks', as: 'number' },
  { title: 'bytes', path: 'bytes', as: 'number' },
  { title: 'updated (UTC)', path: 'updated_at', as: 'time' },
  { title: 'title', path: 'title' },
]

const passageColumns: Column[] = [
  { title: 'score', path: 'score', as: 'number' },
  { title: 'title', path: 'title' },
  { title: 'section', path: 'section' },
  { title: 'text', path: 'text' },
]

type AddOptions = ServerOptions & { title?: string; replace?: string; wait?: true }

const agent = 'agt_01jd3v9qk8x2m5n7p4r6t8w0ya'
const example = `${agent} doc_01jd3v9qk8x2m5n7p4r6t8w0ya`
const documentPath = (agentId: string, id: string): string => `${documentsPath(agentId)}/${encodeURIComponent(id)}`

export function define(group: Command, environment: Environment): void {
  const client = (options: ServerOptions) => createAdminClient(environment, options)

  serverCommand(
    group,
    'add <agent-id> <source>',
    'Add a document: a file (md, txt, html, pdf, docx), an https URL, or - for text from stdin',
    `document add ${agent} handbook.pdf --wait`,
  )
    .option('--title <title>', 'Title shown in citations; required for stdin')
    .option('--replace <document-id>', 'Replace this document, which stays searchable until the new one is indexed')
    .option('--wait', 'Wait until the document is indexed; exit with 1 if it cannot be read')
    .action(async (agentId: string, source: string, { title, replace, wait, ...options }: AddOptions) => {
      const server = client(options)
      const call = await readSource(source, title)
      const taken = await (replace === undefined
        ? server.call('POST', documentsPath(agentId), call)
        : server.call('PUT', documentPath(agentId, replace), call))
      const document = wait ? await waitFor(server, documentPath(agentId, String(taken['id'])), taken) : taken
      await printRecord(document, options)
      if (document['status'] === 'failed') throw new CommandFailed(1, `cannot read the document: ${String(document['reason'])}`)
    })

  serverCommand(group, 'list <agent-id>', 'List the documents of an agent, newest first', `document list ${agent}`)
    .option('--limit <count>', 'Maximum number of results', wholeNumber)
    .action((agentId: string, options: ServerOptions & { limit?: number }) =>
      printList(client(options), documentsPath(agentId), columns, options),
    )

  serverCommand(group, 'show <agent-id> <document-id>', 'Show a document and its indexing status', `document show ${example}`).action(
    async (agentId: string, id: string, options: ServerOptions) =>
      printRecord(await client(options).call('GET', documentPath(agentId, id)), options),
  )

  serverCommand(
    group,
    'search <agent-id> <query>',
    'Show the passages that the agent would get for a query, best first',
    `document search ${agent} "return a parcel"`,
  )
    .option('--limit <count>', 'Maximum number of passages (default: the top_k of the agent)', wholeNumber)
    .action(async (agentId: string, query: string, { limit, ...options }: ServerOptions & { limit?: number }) => {
      const found = await client(options).call('POST', `${agentPath(agentId)}/search`, {
        body: { query, ...given({ limit }) },
      })
      if (options.json) return printRecord(found, options)
      const passages = listOf(found).map((one) => ({ ...one, score: Number(one['score']).toFixed(3), text: shortened(one['text']) }))
      return printTable(passageColumns, passages, 'No passages found.')
    })

  serverCommand(group, 'delete <agent-id> <document-id>', 'Delete a document immediately', `document delete ${example}`).action(
    async (agentId: string, id: string, options: ServerOptions) => {
      await client(options).call('DELETE', documentPath(agentId, id))
      tell(`Deleted document ${id}`)
    },
  )
}

/** Reads the document from its source. Throws CommandFailed with code 2 if the source cannot be read. */
async function readSource(source: string, title: string | undefined): Promise<Call> {
  if (/^https?:\/\//i.test(source)) return { body: given({ url: source, title }) }
  const form = new FormData()
  if (title !== undefined) form.set('title', title)
  if (source === '-') {
    if (title === undefined) throw new CommandFailed(2, 'text from stdin requires --title')
    form.set('file', new Blob([await readStdin()]), 'stdin.md')
    return { form }
  }
  try {
    // openAsBlob opens a folder as an empty file.
    if (statSync(source).isDirectory()) throw new CommandFailed(2, `cannot add ${source}: it is a folder, and a document must be a file`)
    form.set('file', await openAsBlob(source), basename(source))
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed(2, `cannot read ${source}: ${causeOf(error)}`)
  }
  return { form }
}

// A small document is indexed within this time, and a large one causes only 60 requests per minute.
const askEveryMs = 1000

async function waitFor(server: AdminClient, path: string, taken: Fields): Promise<Fields> {
  const progress = showProgress(undefined)
  try {
    for (let document = taken; ;) {
      const { status, progress: share, title } = document
      if (status !== 'queued' && status !== 'indexing') return document
      progress.tell({ phase: String(status), part: visible(String(title)), done: typeof share === 'number' ? share : 0, of: 100 })
      await sleep(askEveryMs)
      document = await server.call('GET', path)
    }
  } finally {
    progress.end()
  }
}
