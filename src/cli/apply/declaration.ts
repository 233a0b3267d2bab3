/**
 * Reads the files of a declaration, merges them and checks everything that can be checked without a server. Owners of the same name in
 * several files are one owner. Also reads the files that the declaration refers to. Sends no requests.
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

/** `sha256` is the hex digest of all bytes. */
export type Content = { bytes: number; sha256: string } & (
  | { source: 'file'; path: string; fileName: string }
  | { source: 'text'; text: string }
)
/** `name` is used in messages. `title` is undefined if the server chooses the title. */
export type WantedDocument = {
  id: string | undefined
  name: string
  title: string | undefined
  content: Content | { source: 'url'; url: string }
  place: Place
}
/** `secretFile` is an absolute path. */
export type WantedKey = Omit<GivenKey, 'secret_file'> & { secretFile: string | undefined }
export type WantedAgent = Omit<GivenAgent, 'documents' | 'keys' | 'system_prompt_file'> & {
  keys: WantedKey[] | undefined
  documents: WantedDocument[] | undefined
}
export type WantedOwner = Omit<GivenOwner, 'agents'> & { agents: WantedAgent[] | undefined }
/** A list that is in no file is undefined and is not compared with the server. */
export type Declaration = { providers: GivenProvider[] | undefined; owners: WantedOwner[] | undefined }

// The maximum size of a document on the server.
const maxFileBytes = 20 * 1024 * 1024
// As JSON, the text must fit the maximum body size of 1 MiB.
const maxTextBytes = 500_000
// multipart/form-data cannot carry these names unchanged. It encodes `"` and line breaks as %22, %0D and %0A, but does not encode a literal
// %22, so the server cannot tell them apart. Of a name with a backslash, the server keeps only the part after it, because some clients send
// a path.
const nameOfNoForm = /["\\\r\n]/
const takenEndings = /\.(md|markdown|txt|text|html?|pdf|docx)$/i

/** Reads all files (`-` is stdin). Throws CommandFailed with code 2 and one line per problem. */
export async function readDeclaration(files: string[]): Promise<Declaration> {
  if (files.filter((file) => file === '-').length > 1) throw new CommandFailed(2, 'stdin can be read only once, but -f - is given twice')
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

/** The error codes that the YAML parser reports for wrong indentation. */
const ofIndentation = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY', 'MISSING_CHAR', 'UNEXPECTED_TOKEN'])

async function readOne(file: string, problems: Problems) {
  const shown = file === '-' ? 'stdin' : file
  let written: string
  try {
    written = file === '-' ? (await readStdin()).toString() : readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(2, `cannot read ${shown}: ${causeOf(error)}`)
  }
  const lines = new LineCounter()
  const document = parseDocument(written, { lineCounter: lines, prettyErrors: false, version: '1.2' })
  const source: Source = { file: shown, folder: file === '-' ? process.cwd() : dirname(pathOf(file)), document, lines, problems }
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(pos[0])
    const hint = ofIndentation.has(code) ? '. Check the indentation: fields of the same level must start in the same column' : ''
    problems.add(
      { file: shown, line, column: col },
      `${message.replace(/; please use .*$/, ': put each document in a separate file')}${hint}`,
    )
  }
  if (document.errors.length > 0) return undefined
  const place = { file: shown, line: 1, column: 1 }
  if (document.contents === null) return problems.add(place, 'the file is empty')
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
        problems.add(owner.placeOf(field), `${field} of the owner ${owner.name} differs from the value in ${same.place.file}`)
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
    problems.add(agent.placeOf('system_prompt_file'), 'system_prompt and system_prompt_file cannot be used together')
  const prompt =
    promptFile === undefined
      ? undefined
      : read(pathOf(source.folder, promptFile), agent.placeOf('system_prompt_file'), problems)?.toString().trimEnd()
  if (prompt !== undefined && [...prompt].length > 100_000)
    problems.add(agent.placeOf('system_prompt_file'), 'a system prompt can have at most 100,000 characters')
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
    return problems.add(place, 'a document requires exactly one of file, text and url')
  const named = (fallback: string) => ({
    id,
    name: title ?? fallback,
    // Treated as not given, because the server may find a better title than this default.
    title: title === fallback ? undefined : title,
    place,
  })
  if (url !== undefined) return { ...named(url), content: { source: 'url', url } }
  if (text !== undefined) {
    if (title === undefined) return problems.add(place, 'a document with text requires a title')
    if (Buffer.byteLength(text) > maxTextBytes) return problems.add(place, 'the text is longer than 500,000 bytes: put it in a file')
    return { ...named(''), content: { source: 'text', text, ...digestOf(Buffer.from(text)) } }
  }
  const at = document.placeOf('file')
  const path = pathOf(source.folder, file!)
  if (!takenEndings.test(path)) return problems.add(at, `${file} is not a supported file type: use md, txt, html, pdf or docx`)
  const fileName = basename(path)
  if (nameOfNoForm.test(fileName))
    return problems.add(at, `the name of ${file} contains a quote, a backslash or a line break, which cannot be uploaded: rename the file`)
  const bytes = read(path, at, problems)
  if (!bytes) return undefined
  if (bytes.length === 0) return problems.add(at, `${file} is empty`)
  if (bytes.length > maxFileBytes) return problems.add(at, `${file} is larger than 20 MiB`)
  return { ...named(fileName), content: { source: 'file', path, fileName, ...digestOf(bytes) } }
}

export function digestOf(bytes: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function read(path: string, place: Place, problems: Problems): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    return problems.add(place, `cannot read the file: ${causeOf(error)}`)
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
  problems.add(place, `duplicate ${kind} ${name}, first declared at ${first.file}:${first.line}${hint}`)
}

/** Returns undefined if no list is given. */
function joined<Item>(lists: (Item[] | undefined)[]): Item[] | undefined {
  const given = lists.filter((list) => list !== undefined)
  return given.length === 0 ? undefined : given.flat()
}
