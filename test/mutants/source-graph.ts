/**
 * Finds the files of the repository that decide the result of a test: those it reaches by the paths written in them. Reads files, never
 * runs them.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** The content of files that replaces their content on disk, by path: a mutant's edited files. */
export type Overlay = ReadonlyMap<string, string>

const none: Overlay = new Map()
// Type imports are erased before the code runs, so their paths decide nothing.
const typeImport = /^(?:import|export) type [^'"`]*from '[^'\n]*'/gm
// Any quoted path: `import` and `export from`, `import('./x.ts')`, `new URL('./x.ts', import.meta.url)`, `join(import.meta.dirname, 'x.json')`.
const quotedPath = /(['"`])([\w./@-]+)(\1|\$\{)/g
const hasPaths = /\.(?:ts|js|mjs)$/

/**
 * The files below the given folders and the paths between them. A quoted text in a file counts as a path if, resolved from that file's
 * folder, it names a file, or if it starts with `./` or `../` and names a folder other than one the file is in; then every file in that
 * folder counts. This finds everything that Node loads, and more, except for paths that are built from parts and files named from another
 * folder. With `fromRoot`, a text that names a file from the root of the repository counts as well.
 */
export class SourceGraph {
  readonly #root: string
  readonly #fromRoot: boolean
  readonly #files: Set<string>
  readonly #texts = new Map<string, string>()
  readonly #hashes = new Map<string, string>()
  readonly #references = new Map<string, string[]>()

  /** `folders` are relative to `root`. */
  constructor(root: string, folders: string[], { fromRoot = false } = {}) {
    this.#root = root
    this.#fromRoot = fromRoot
    const entries = folders.flatMap((folder) => globSync(`${folder}/**/*`, { cwd: root, withFileTypes: true }))
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => posix.relative(root, join(entry.parentPath, entry.name)))
    this.#files = new Set([...paths, ...globSync('*.json', { cwd: root })])
  }

  text(file: string): string {
    return memo(this.#texts, file, () => readFileSync(join(this.#root, file), 'utf8'))
  }

  /** The given files and every file reachable from them, sorted by path. */
  reachable(from: string[], overlay: Overlay = none): string[] {
    const found = new Set(from)
    // A Set's iteration includes what is added during the iteration.
    for (const file of found) for (const next of this.#referencesOf(file, overlay)) found.add(next)
    return [...found].toSorted()
  }

  /**
   * Every file that reaches one of the given files, with the length of its shortest way there: 0 for these, 1 for a file that names one of
   * them.
   */
  distances(to: string[]): Map<string, number> {
    const namedBy = new Map<string, string[]>()
    for (const file of this.#files) for (const named of this.#referencesOf(file, none)) memo(namedBy, named, () => []).push(file)
    const found = new Map(to.map((file) => [file, 0]))
    // A Map's iteration includes what is added during the iteration, nearest first.
    for (const [file, distance] of found) for (const by of namedBy.get(file) ?? []) if (!found.has(by)) found.set(by, distance + 1)
    return found
  }

  /** The files whose text contains this one. */
  mentioning(text: string): string[] {
    return [...this.#files].filter((file) => hasPaths.test(file) && this.text(file).includes(text))
  }

  has(file: string): boolean {
    return this.#files.has(file)
  }

  /** SHA-256 of the file's content, in hexadecimal. */
  hash(file: string, overlay: Overlay = none): string {
    const changed = overlay.get(file)
    return changed === undefined ? memo(this.#hashes, file, () => sha256(this.text(file))) : sha256(changed)
  }

  #referencesOf(file: string, overlay: Overlay): string[] {
    if (!hasPaths.test(file)) return []
    const changed = overlay.get(file)
    return changed === undefined ? memo(this.#references, file, () => this.#parse(file, this.text(file))) : this.#parse(file, changed)
  }

  #parse(file: string, text: string): string[] {
    const written = text.replaceAll(typeImport, '').matchAll(quotedPath)
    return [...new Set([...written].flatMap(([, , path, end]) => this.#resolve(file, path!, end === '${')))]
  }

  /** `isOpen`: an expression follows the path, so only its folder is known. */
  #resolve(file: string, path: string, isOpen: boolean): string[] {
    const known = isOpen ? path.slice(0, path.lastIndexOf('/') + 1) : path
    const target = posix.join(dirname(file), known)
    if (!isOpen && this.#files.has(target)) return [target]
    if (!isOpen && this.#fromRoot && this.#files.has(path)) return [path]
    const folder = `${target.replace(/\/$/, '')}/`
    if (!/^\.\.?\//.test(known) || folder === './' || file.startsWith(folder)) return []
    return [...this.#files].filter((other) => other.startsWith(folder))
  }
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function memo<Value>(known: Map<string, Value>, name: string, make: () => Value): Value {
  const value = known.get(name) ?? make()
  known.set(name, value)
  return value
}
