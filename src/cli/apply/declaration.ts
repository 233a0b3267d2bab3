/**
 * The files of a declaration as one: read, put together, and looked at for whatever can be wrong without asking a server. Owners of one name in
 * several files are one owner. Reads the files that the declaration names; asks no server.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve as pathOf } from 'node:path'
import { LineCounter, parseDocument } from 'yaml'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { readStdin } from '../terminal/stdin.ts'
import { Problems } from './problems.ts'
import type { Place } from './problems.ts'
import { resolve } from './readers.ts'
import type { Placed, Source } from './readers.ts'
import { root } from './shapes.ts'
import type { GivenAgent, GivenDocument, GivenKey, GivenOwner, GivenProvider } from './shapes.ts'

/** `sha256` in hex, of all its bytes. */
export type Content = { bytes: number; sha256: string } & (
  | { source: 'file'; path: string; fileName: string }
  | { source: 'text'; text: string }
)
/** `name` is how a person calls it; `title` is absent where the server finds one. */
export type WantedDocument = {
  id: string | undefined
  name: string
  title: string | undefined
  content: Content | { source: 'url'; url: string }
  place: Place
}
/** `secretFile`: a whole path. */
export type WantedKey = Omit<GivenKey, 'secret_file'> & { secretFile: string | undefined }
export type WantedAgent = Omit<GivenAgent, 'documents' | 'keys' | 'system_prompt_file'> & {
  keys: WantedKey[] | undefined
  documents: WantedDocument[] | undefined
}
export type WantedOwner = Omit<GivenOwner, 'agents'> & { agents: WantedAgent[] | undefined }
/** A list that no file gives is undefined: nothing is said of it. */
export type Declaration = { providers: GivenProvider[] | undefined; owners: WantedOwner[] | undefined }

// A document's limit on the server.
const maxFile = 20 * 1024 * 1024
// As JSON it must fit the largest body, of 1 MiB.
const maxText = 500_000
// The server gets another name than these: forms write `"` and line breaks as %22, %0D and %0A, and a name that really has %22 in it as it is, so
// that no server can tell them apart; and of a name with a backslash it keeps what stands after it, since some senders give a whole path.
const nameOfNoForm = /["\\\r\n]/
const takenEndings = /\.(md|markdown|txt|text|html?|pdf|docx)$/i

/** Throws CommandFailed with code 2 and a line for each problem. `-` is stdin. */
export async function readDeclaration(files: string[]): Promise<Declaration> {
  if (files.filter((file) => file === '-').length > 1) throw new CommandFailed(2, 'stdin can be read once: -f - stands there twice')
  const problems = new Problems()
  const given = []
  for (const file of new Set(files)) given.push(await readOne(file, problems))
  const providers = joined(given.map((one) => one?.providers))
  const owners = joined(given.map((one) => one?.owners))
  if (providers) refuseTwice(providers, 'provider', problems)
  const wanted = owners && mergeOwners(owners, problems)
  problems.refuse(2)
  return { providers, owners: wanted }
}

/** What a wrong indentation comes to, in the library's words for something else. */
const ofIndentation = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY', 'MISSING_CHAR', 'UNEXPECTED_TOKEN'])

async function readOne(file: string, problems: Problems) {
  const shown = file === '-' ? 'stdin' : file
  let written: string
  try {
    written = file === '-' ? (await readStdin()).toString() : readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(2, `${shown} cannot be read: ${causeOf(error)}`)
  }
  const lines = new LineCounter()
  const document = parseDocument(written, { lineCounter: lines, prettyErrors: false, version: '1.2' })
  const source: Source = { file: shown, folder: file === '-' ? process.cwd() : dirname(pathOf(file)), document, lines, problems }
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(pos[0])
    const hint = ofIndentation.has(code) ? '. Are the lines around it indented alike? What belongs together begins in one column' : ''
    problems.add({ file: shown, line, column: col }, `${message.replace(/; please use .*$/, ': give each a file of its own')}${hint}`)
  }
  if (document.errors.length > 0) return undefined
  const place = { file: shown, line: 1, column: 1 }
  if (document.contents === null) return problems.add(place, 'nothing is declared here')
  return root(resolve({ node: document.contents, place, name: 'the file', source, depth: 0 }))
}

function mergeOwners(given: GivenOwner[], problems: Problems): WantedOwner[] {
  const merged: WantedOwner[] = []
  for (const owner of given) {
    const agents = owner.agents?.map((agent) => wantedAgent(agent, problems))
    const same = merged.find(({ name }) => name === owner.name)
    if (!same) {
      merged.push({ ...owner, agents })
      continue
    }
    if (same.place.file === owner.place.file) tellTwice('owner', owner, same.place, problems)
    for (const field of ['id', 'balance_usd'] as const)
      if (owner[field] !== undefined && same[field] !== undefined && owner[field] !== same[field])
        problems.add(owner.placeOf(field), `${field} of the owner ${owner.name} is another one in ${same.place.file}`)
    same.id ??= owner.id
    same.balance_usd ??= owner.balance_usd
    if (agents) same.agents = [...(same.agents ?? []), ...agents]
  }
  for (const { agents = [] } of merged) refuseTwice(agents, 'agent', problems)
  return merged
}

function wantedAgent({ system_prompt_file: promptFile, ...agent }: GivenAgent, problems: Problems): WantedAgent {
  const { source } = agent
  if (promptFile !== undefined && agent.system_prompt !== undefined)
    problems.add(agent.placeOf('system_prompt_file'), 'give system_prompt or system_prompt_file, not both')
  const prompt =
    promptFile === undefined
      ? undefined
      : read(pathOf(source.folder, promptFile), agent.placeOf('system_prompt_file'), problems)?.toString().trimEnd()
  if (prompt !== undefined && [...prompt].length > 100_000)
    problems.add(agent.placeOf('system_prompt_file'), 'a system prompt may have 100000 characters')
  const keys = agent.keys?.map(({ secret_file: file, ...key }) => ({
    ...key,
    secretFile: file === undefined ? undefined : pathOf(source.folder, file),
  }))
  const documents = agent.documents?.flatMap((document) => wantedDocument(document, problems) ?? [])
  refuseTwice(keys ?? [], 'key', problems)
  refuseTwice(documents ?? [], 'document', problems)
  refuseTwice(agent.tools ?? [], 'tool', problems)
  return { ...agent, system_prompt: prompt ?? agent.system_prompt, keys, documents }
}

function wantedDocument(document: GivenDocument, problems: Problems): WantedDocument | undefined {
  const { id, title, file, text, url, place, source } = document
  if ([file, text, url].filter((one) => one !== undefined).length !== 1)
    return problems.add(place, 'a document is one of file, text and url')
  const named = (fallback: string) => ({
    id,
    name: title ?? fallback,
    // As if none was given: the server looks for a better one than these.
    title: title === fallback ? undefined : title,
    place,
  })
  if (url !== undefined) return { ...named(url), content: { source: 'url', url } }
  if (text !== undefined) {
    if (title === undefined) return problems.add(place, 'a document of text needs a title')
    if (Buffer.byteLength(text) > maxText) return problems.add(place, 'a text of this length goes into a file')
    return { ...named(''), content: { source: 'text', text, ...digestOf(Buffer.from(text)) } }
  }
  const at = document.placeOf('file')
  const path = pathOf(source.folder, file!)
  if (!takenEndings.test(path)) return problems.add(at, `${file} is none of md, txt, html, pdf and docx`)
  const fileName = basename(path)
  if (nameOfNoForm.test(fileName))
    return problems.add(
      at,
      `the name of ${file} has a quote, a backslash or a line break in it, which a form cannot carry: give it another name`,
    )
  const bytes = read(path, at, problems)
  if (!bytes) return undefined
  if (bytes.length === 0) return problems.add(at, `${file} is empty`)
  if (bytes.length > maxFile) return problems.add(at, `${file} is larger than 20 MiB`)
  return { ...named(fileName), content: { source: 'file', path, fileName, ...digestOf(bytes) } }
}

export function digestOf(bytes: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function read(path: string, place: Place, problems: Problems): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    return problems.add(place, `it cannot be read: ${causeOf(error)}`)
  }
}

function refuseTwice(named: { name: string; place: Place }[], kind: string, problems: Problems): void {
  for (const [index, one] of named.entries()) {
    const first = named.slice(0, index).find(({ name }) => name === one.name)
    if (first) tellTwice(kind, one, first.place, problems)
  }
}

function tellTwice(
  kind: string,
  { name, place }: Pick<Placed<{ name: string }>, 'name' | 'place'>,
  first: Place,
  problems: Problems,
): void {
  const hint = kind === 'document' ? '; give one of them another title' : ''
  problems.add(place, `the ${kind} ${name} stands here a second time, after ${first.file}:${first.line}${hint}`)
}

/** Undefined where none of them is given. */
function joined<Item>(lists: (Item[] | undefined)[]): Item[] | undefined {
  const given = lists.filter((list) => list !== undefined)
  return given.length === 0 ? undefined : given.flat()
}
