/** Waits until the uploaded documents are indexed. Polls the list of each agent instead of each document. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminClient } from '../admin-api/client.ts'
import { warningsOf } from '../admin-api/document-warnings.ts'
import { documentsPath } from '../admin-api/paths.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Progress } from '../data/progress.ts'
import { describe } from './item.ts'
import type { Item } from './item.ts'
import { listAll } from './present.ts'

// A small document is indexed within this time.
const askEveryMs = 1000

/** Returns one line for each document that cannot be read, and calls `onWarning` with what was not read of one. Throws CommandFailed. */
export async function waitForDocuments(
  items: Item[],
  client: AdminClient,
  { progress, onWarning }: { progress: Progress; onWarning(line: string): void },
): Promise<string[]> {
  const documents = items.filter(({ kind, action }) => kind === 'document' && action !== 'delete')
  const failed: string[] = []
  let waiting = documents
  while (waiting.length > 0) {
    const agents = new Set(waiting.map(({ parent }) => parent!.id!))
    const present = new Map<string, { status: unknown; reason: unknown; warnings: string[] }>()
    for (const id of agents)
      for (const { id: documentId, fields } of await listAll(client, documentsPath(id)))
        present.set(documentId, { status: fields['status'], reason: fields['reason'], warnings: warningsOf(fields) })
    waiting = waiting.filter((item) => {
      const { status, reason, warnings } = present.get(item.id!) ?? {
        status: 'failed',
        reason: 'it was deleted in the meantime',
        warnings: [],
      }
      if (status === 'ready')
        for (const warning of warnings) onWarning(`${escapeForTerminal(describe(item))}: ${escapeForTerminal(warning)}`)
      if (status === 'failed') failed.push(`cannot read ${escapeForTerminal(describe(item))}: ${escapeForTerminal(String(reason))}`)
      return status === 'queued' || status === 'indexing'
    })
    if (waiting.length === 0) break
    progress.tell({
      phase: 'indexing',
      part: escapeForTerminal(waiting[0]!.name),
      done: documents.length - waiting.length,
      of: documents.length,
    })
    await sleep(askEveryMs)
  }
  progress.end()
  return failed
}
