/**
 * `turnkeep document add`: adds documents, replaces those of the same name, and skips those whose content has not changed. A file is
 * compared by its name and digest, a URL by its address, and text from stdin by its title and digest.
 */
import { readFileSync } from 'node:fs'
import type { AdminClient, Call, Fields } from '../admin-api/client.ts'
import type { CommandRun } from '../command-run.ts'
import { digestOf } from '../admin-api/document-files.ts'
import { documentsPath } from '../admin-api/paths.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { given } from '../terminal/command-options.ts'
import { readStdin } from '../terminal/stdin.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { Source } from './document-sources.ts'

export type Added = { action: 'added' | 'replaced' | 'unchanged'; source: string; document: Fields }

/** `title` and `replace`, the ID of a document, are allowed for a single source only. */
export type AddWish = { agentId: string; title: string | undefined; replace: string | undefined }

export const documentPath = (agentId: string, id: string): string => `${documentsPath(agentId)}/${encodeURIComponent(id)}`

/** All documents of the agent, to match the sources with. */
export async function listDocuments(server: AdminClient, agentId: string): Promise<Fields[]> {
  const all: Fields[] = []
  for await (const { data } of server.pages(documentsPath(agentId))) all.push(...data)
  return all
}

/** Throws CommandFailed: 1 if the server refuses the document or its name is ambiguous, 2 if the source cannot be read. */
export async function addDocument(run: CommandRun, server: AdminClient, source: Source, present: Fields[], wish: AddWish): Promise<Added> {
  const { agentId, replace } = wish
  const title = wish.title ?? (source.kind === 'file' ? source.title : undefined)
  const bytes = await readBytes(run, source)
  const sha256 = bytes && digestOf(bytes).sha256
  const same = replace === undefined ? findSame(source, { title, sha256 }, present) : undefined
  if (same && sha256 !== undefined && isUnchanged(same, { title, sha256 }))
    return { action: 'unchanged', source: source.name, document: same }
  const call = callOf(source, title, bytes)
  const id = replace ?? (same && String(same['id']))
  const document = await (id === undefined
    ? server.call('POST', documentsPath(agentId), call)
    : server.call('PUT', documentPath(agentId, id), call))
  return { action: id === undefined ? 'added' : 'replaced', source: source.name, document }
}

/** Returns undefined for a URL, which the server fetches. */
async function readBytes(run: CommandRun, source: Source): Promise<Buffer<ArrayBuffer> | undefined> {
  if (source.kind === 'url') return undefined
  if (source.kind === 'stdin') return readStdin(run)
  try {
    return readFileSync(source.path)
  } catch (error) {
    throw new CommandFailed(2, `cannot read ${source.path}: ${causeOf(error)}`)
  }
}

type Content = { title: string | undefined; sha256: string | undefined }

/** Returns the document that the source replaces. Throws CommandFailed with code 1 if several have the same name. */
function findSame(source: Source, { title, sha256 }: Content, present: Fields[]): Fields | undefined {
  const titled = (text: string): Fields[] => present.filter((one) => one['title'] === text)
  const alike = (): Fields[] => {
    if (source.kind === 'url') return present.filter((one) => one['url'] === source.url)
    const byTitle = title === undefined ? [] : titled(title)
    if (byTitle.length > 0 || source.kind === 'stdin') return byTitle
    const named = present.filter((one) => one['file_name'] === source.fileName)
    // Of several files with one name, only the same content is the same document.
    if (source.title !== undefined) return named.filter((one) => one['source_sha256'] === sha256)
    return named.length > 0 ? named : titled(source.fileName)
  }
  const meant = alike()
  if (meant.length <= 1) return meant[0]
  const sameContent = sha256 === undefined ? undefined : meant.find((one) => one['source_sha256'] === sha256)
  if (sameContent) return sameContent
  const ids = meant.map((one) => String(one['id'])).join(', ')
  throw new CommandFailed(
    1,
    `${meant.length} documents are named ${escapeForTerminal(source.name)}: ${ids}. Choose one of them with --replace`,
  )
}

/** A document that could not be read is sent again, because another version of the server may read it. */
const isUnchanged = (same: Fields, { title, sha256 }: Content): boolean =>
  same['source_sha256'] === sha256 && same['status'] !== 'failed' && (title === undefined || same['title'] === title)

function callOf(source: Source, title: string | undefined, bytes: Buffer<ArrayBuffer> | undefined): Call {
  if (source.kind === 'url') return { body: given({ url: source.url, title }) }
  const form = new FormData()
  if (title !== undefined) form.set('title', title)
  form.set('file', new Blob([bytes!]), source.kind === 'stdin' ? 'stdin.md' : source.fileName)
  return { form }
}
