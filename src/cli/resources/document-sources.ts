/** The sources of `document add`: files, folders, glob patterns, URLs and stdin, expanded to one entry per document. */
import { globSync, readdirSync, statSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { documentEndings } from '../admin-api/document-files.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'

/** `name` is shown in messages. `title` is set if files of several folders have the same name, and distinguishes them. */
export type Source =
  | { kind: 'file'; name: string; path: string; fileName: string; title: string | undefined }
  | { kind: 'url'; name: string; url: string }
  | { kind: 'stdin'; name: string }

/** `isOne`: the argument is one file, URL or stdin, and not a list that happens to have one entry. */
export type Sources = { sources: Source[]; isOne: boolean }

type Found = { path: string; within: string }

// As many documents as an agent can have.
const maxFiles = 10_000

/** Throws CommandFailed with code 2 if a file, folder or pattern cannot be read or has no documents. */
export function expandSources(given: string[]): Sources {
  const sources: Source[] = []
  const files = new Map<string, Found>()
  let isOne = given.length === 1
  for (const text of given) {
    if (text === '-') sources.push({ kind: 'stdin', name: 'stdin' })
    else if (/^https?:\/\//i.test(text)) sources.push({ kind: 'url', name: text, url: text })
    else {
      const { found, isList } = findFiles(text)
      isOne &&= !isList
      for (const file of found) if (!files.has(resolve(file.path))) files.set(resolve(file.path), file)
    }
  }
  if (files.size > maxFiles) throw new CommandFailed(2, `cannot add more than ${maxFiles.toLocaleString('en-US')} files at the same time`)
  return { sources: [...sources, ...withTitles([...files.values()])], isOne }
}

function findFiles(text: string): { found: Found[]; isList: boolean } {
  const isPattern = /[*?[{]/.test(text)
  const stats = tryReading(text, () => statSync(text, { throwIfNoEntry: !isPattern }))
  if (stats?.isDirectory()) return { found: orRefuse(text, 'the folder has', filesIn(text)), isList: true }
  if (stats) return { found: [{ path: text, within: '' }], isList: false }
  const matched = tryReading(text, () => globSync(text).toSorted())
  const documents = matched.filter((path) => documentEndings.test(path) && statSync(path, { throwIfNoEntry: false })?.isFile())
  return {
    found: orRefuse(
      text,
      'the pattern matches',
      documents.map((path) => ({ path, within: '' })),
    ),
    isList: true,
  }
}

function orRefuse(text: string, has: string, found: Found[]): Found[] {
  if (found.length > 0) return found
  throw new CommandFailed(2, `cannot add ${text}: ${has} no md, txt, html, pdf or docx file`)
}

/** All documents in a folder and its subfolders. Hidden files, symbolic links and node_modules are skipped. */
function filesIn(folder: string): Found[] {
  const found: Found[] = []
  const read = (at: string): void => {
    const entries = tryReading(at, () => readdirSync(at, { withFileTypes: true }))
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      const path = join(at, entry.name)
      if (entry.isDirectory()) read(path)
      else if (entry.isFile() && documentEndings.test(entry.name)) found.push({ path, within: folder })
    }
  }
  read(folder)
  return found
}

function tryReading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new CommandFailed(2, `cannot read ${path}: ${causeOf(error)}`)
  }
}

function withTitles(files: Found[]): Source[] {
  const count = Map.groupBy(files, ({ path }) => basename(path))
  return files.map(({ path, within }) => {
    const fileName = basename(path)
    const title = count.get(fileName)!.length > 1 ? relative(within, path).split(sep).join('/').slice(-500) : undefined
    return { kind: 'file', name: path, path, fileName, title }
  })
}
