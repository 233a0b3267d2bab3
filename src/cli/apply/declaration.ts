/**
 * Reads the files of a declaration, merges them and checks everything that can be checked without a server. Owners of the same name in
 * several files are one owner. Also reads the files that the declaration refers to. Sends no requests.
 */
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve as pathOf } from 'node:path'
import { LineCounter, isScalar, parseDocument, visit } from 'yaml'
import type { Document } from 'yaml'
import type { CommandRun } from '../command-run.ts'
import { ownSecrets } from '../../config/own-secrets.ts'
import { digestOf, documentEndings, notInForms } from '../admin-api/document-files.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { readStdin } from '../terminal/stdin.ts'
import { TooMuch } from './aliases.ts'
import { DeclaredFiles, FileRefused } from './declared-files.ts'
import { Problems } from './problems.ts'
import type { Place } from './problems.ts'
import { resolve, sourceOf } from './readers.ts'
import type { Placed } from './readers.ts'
import { root } from './shapes.ts'
import type { GivenAgent, GivenDocument, GivenKey, GivenOwner, GivenProvider, GivenWebhook } from './shapes.ts'

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
export type WantedWebhook = Omit<GivenWebhook, 'secret_file'> & { name: string; secretFile: string | undefined }
export type WantedAgent = Omit<GivenAgent, 'documents' | 'keys' | 'system_prompt_file'> & {
  keys: WantedKey[] | undefined
  documents: WantedDocument[] | undefined
}
export type WantedOwner = Omit<GivenOwner, 'agents'> & { agents: WantedAgent[] | undefined }
/** A list that is in no file is undefined and is not compared with the server. `filesRead` are the real paths of all referenced files. */
export type Declaration = {
  providers: GivenProvider[] | undefined
  webhooks: WantedWebhook[] | undefined
  owners: WantedOwner[] | undefined
  filesRead: string[]
}

// Enough for ten thousand agents. Long texts belong in files of their own.
const maxDeclarationBytes = 4 * 1024 * 1024
// A character has at most four bytes. White space at the end of the file is not part of the prompt.
const maxPromptBytes = 500_000
// The maximum size of a document on the server.
const maxFileBytes = 20 * 1024 * 1024
// As JSON, the text must fit the maximum body size of 1 MiB.
const maxTextBytes = 500_000

/** Reads all files (`-` is stdin). Throws CommandFailed and one line per problem. */
export async function readDeclaration(run: CommandRun, files: string[]): Promise<Declaration> {
  if (files.filter((file) => file === '-').length > 1) throw new CommandFailed(2, 'stdin can be read only once, but -f - is given twice')
  const problems = new Problems()
  const given = []
  for (const file of new Set(files)) given.push(await readOne(run, file, problems))
  const providers = joined(given.map((one) => one?.providers))
  const owners = joined(given.map((one) => one?.owners))
  const webhooks = joined(given.map((one) => one?.webhooks))
  if (providers) refuseTwice(providers, 'provider', problems)
  const declaredFiles = new DeclaredFiles(ownSecrets(run.environment))
  const wanted = owners && mergeOwners(owners, declaredFiles, problems)
  const wantedWebhooks = webhooks?.map((webhook) => wantedWebhook(webhook, declaredFiles, problems))
  refuseTwice(wantedWebhooks ?? [], 'webhook', problems)
  problems.refuse()
  return { providers, webhooks: wantedWebhooks, owners: wanted, filesRead: declaredFiles.read }
}

/** The error codes that the YAML parser reports for wrong indentation. */
const ofIndentation = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY', 'MISSING_CHAR', 'UNEXPECTED_TOKEN'])

async function readOne(run: CommandRun, file: string, problems: Problems) {
  const shown = file === '-' ? 'stdin' : file
  let written: string
  try {
    const bytes = file === '-' ? await readStdin(run, maxDeclarationBytes) : readFileSync(file)
    if (bytes.length > maxDeclarationBytes)
      throw new CommandFailed(2, `${shown} is larger than 4 MiB: put long texts in files of their own, or split the declaration`)
    written = bytes.toString()
  } catch (error) {
    throw error instanceof CommandFailed ? error : new CommandFailed(2, `cannot read ${shown}: ${causeOf(error)}`)
  }
  const place = { file: shown, line: 1, column: 1 }
  const lines = new LineCounter()
  const outcome = parse(written, lines)
  if (!outcome) return problems.add(place, 'the file is nested too deeply')
  const { document, errors } = outcome
  const source = sourceOf({ file: shown, folder: file === '-' ? pathOf('.') : dirname(pathOf(file)), document, lines, problems })
  for (const { code = '', message, pos } of [...errors, ...document.warnings]) {
    const { line, col } = lines.linePos(pos[0])
    const hint = ofIndentation.has(code) ? '. Check the indentation: fields of the same level must start in the same column' : ''
    problems.add(
      { file: shown, line, column: col },
      `${message.replace(/; please use .*$/, ': put each document in a separate file')}${hint}`,
    )
  }
  if (errors.length > 0) return undefined
  if (document.contents === null) return problems.add(place, 'the file is empty')
  try {
    return root(resolve({ node: document.contents, place, name: 'the file', source, depth: 0 }))
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error
    return problems.add(place, error.message)
  }
}

type ParseError = { code?: string; message: string; pos: [number, number] }

/** Returns undefined if the values are nested more deeply than the stack allows. */
function parse(written: string, lineCounter: LineCounter): { document: Document.Parsed; errors: ParseError[] } | undefined {
  try {
    // The parser compares each key with all others of its map. duplicateKeys() does it in one pass.
    const document = parseDocument(written, { lineCounter, prettyErrors: false, version: '1.2', uniqueKeys: false })
    // The parser reports what it catches as an error of the file.
    if (document.errors.some(({ message }) => message.includes('call stack'))) return undefined
    return { document, errors: [...document.errors, ...duplicateKeys(document)] }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function duplicateKeys(document: Document.Parsed): ParseError[] {
  const found: ParseError[] = []
  visit(document, {
    Map(_, { items }) {
      const known = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const at = key.range?.[0] ?? 0
        if (known.has(key.value)) found.push({ message: 'Map keys must be unique', pos: [at, at] })
        known.add(key.value)
      }
    },
  })
  return found
}

function mergeOwners(given: GivenOwner[], files: DeclaredFiles, problems: Problems): WantedOwner[] {
  const byName = new Map<string, WantedOwner>()
  for (const owner of given) {
    const agents = owner.agents?.map((agent) => wantedAgent(agent, files, problems))
    const same = byName.get(owner.name)
    if (!same) {
      byName.set(owner.name, { ...owner, agents })
      continue
    }
    if (same.place.file === owner.place.file) tellTwice('owner', owner, same.place, problems)
    for (const field of ['id', 'balance_usd', 'low_balance_usd'] as const)
      if (owner[field] !== undefined && same[field] !== undefined && owner[field] !== same[field])
        problems.add(owner.placeOf(field), `${field} of the owner ${owner.name} differs from the value in ${same.place.file}`)
    same.id ??= owner.id
    same.balance_usd ??= owner.balance_usd
    // Null is a value: no low balance.
    if (same.low_balance_usd === undefined) same.low_balance_usd = owner.low_balance_usd
    if (agents) same.agents = [...(same.agents ?? []), ...agents]
  }
  const merged = [...byName.values()]
  for (const { agents = [] } of merged) refuseTwice(agents, 'agent', problems)
  return merged
}

function wantedAgent({ system_prompt_file: promptFile, ...agent }: GivenAgent, files: DeclaredFiles, problems: Problems): WantedAgent {
  const { source } = agent
  if (promptFile !== undefined && agent.system_prompt !== undefined)
    problems.add(agent.placeOf('system_prompt_file'), 'system_prompt and system_prompt_file cannot be used together')
  const prompt =
    promptFile === undefined
      ? undefined
      : orProblem(problems, agent.placeOf('system_prompt_file'), () => readPrompt(files, source.folder, promptFile))
  const keys = agent.keys?.map(({ secret_file: file, ...key }) => ({
    ...key,
    secretFile: file === undefined ? undefined : orProblem(problems, key.placeOf('secret_file'), () => files.pathIn(source.folder, file)),
  }))
  const documents = agent.documents?.flatMap((document) => wantedDocument(document, files, problems) ?? [])
  refuseTwice(keys ?? [], 'key', problems)
  refuseTwice(documents ?? [], 'document', problems)
  refuseTwice(agent.tools ?? [], 'tool', problems)
  return { ...agent, system_prompt: prompt ?? agent.system_prompt, keys, documents }
}

function wantedWebhook({ secret_file: file, ...webhook }: GivenWebhook, files: DeclaredFiles, problems: Problems): WantedWebhook {
  const { source, placeOf } = webhook
  const secretFile = file === undefined ? undefined : orProblem(problems, placeOf('secret_file'), () => files.pathIn(source.folder, file))
  return { ...webhook, name: webhook.url, secretFile }
}

const longPrompt = 'a system prompt can have at most 100,000 characters'

/** Throws FileRefused. */
function readPrompt(files: DeclaredFiles, folder: string, file: string): string {
  const { bytes } = files.readIn(folder, file, { maxBytes: maxPromptBytes, tooLarge: longPrompt })
  // `text.well-formed`
  if (!isUtf8(bytes) || bytes.includes(0)) throw new FileRefused(`${file} is not text in UTF-8`)
  const prompt = bytes.toString().trimEnd()
  if ([...prompt].length > 100_000) throw new FileRefused(longPrompt)
  return prompt
}

function wantedDocument(document: GivenDocument, files: DeclaredFiles, problems: Problems): WantedDocument | undefined {
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
  const fileName = basename(pathOf(source.folder, file!))
  if (!documentEndings.test(fileName)) return problems.add(at, `${file} is not a supported file type: use md, txt, html, pdf or docx`)
  if (notInForms.test(fileName))
    return problems.add(at, `the name of ${file} contains a quote, a backslash or a line break, which cannot be uploaded: rename the file`)
  const limit = { maxBytes: maxFileBytes, tooLarge: `${file} is larger than 20 MiB` }
  const found = orProblem(problems, at, () => files.readIn(source.folder, file!, limit))
  if (!found) return undefined
  if (found.bytes.length === 0) return problems.add(at, `${file} is empty`)
  return { ...named(fileName), content: { source: 'file', path: found.path, fileName, ...digestOf(found.bytes) } }
}

/** Returns undefined and adds a problem if the file is refused. */
function orProblem<T>(problems: Problems, place: Place, use: () => T): T | undefined {
  try {
    return use()
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error
    return problems.add(place, error.message)
  }
}

function refuseTwice(named: { name: string; place: Place }[], kind: string, problems: Problems): void {
  const first = new Map<string, Place>()
  for (const one of named) {
    const place = first.get(one.name)
    if (place) tellTwice(kind, one, place, problems)
    else first.set(one.name, one.place)
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
