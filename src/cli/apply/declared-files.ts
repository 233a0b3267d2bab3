/**
 * The files that a declaration refers to. Only regular files in the folder of the declaration are accepted, after symbolic links are
 * resolved, and none that contains a secret of the service: a declaration may come from someone who must not see other files.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { OwnSecret } from '../../config/own-secrets.ts'
import { causeOf } from '../terminal/command-failed.ts'

/** The file cannot be used. The message is for a problem of the declaration. */
export class FileRefused extends Error {}

export class DeclaredFiles {
  readonly #secrets: OwnSecret[]
  readonly #read = new Set<string>()

  constructor(secrets: OwnSecret[]) {
    this.#secrets = secrets
  }

  /** The real paths of all files that were read, in the order of the declaration. */
  get read(): string[] {
    return [...this.#read]
  }

  /**
   * Reads a file of the declaration in `folder`. Throws FileRefused.
   * @param tooLarge the problem of a file with more than `maxBytes`
   */
  readIn(folder: string, file: string, { maxBytes, tooLarge }: { maxBytes: number; tooLarge: string }): { path: string; bytes: Buffer } {
    const path = this.#existing(folder, file)
    let bytes: Buffer
    try {
      const { size } = regularFile(path, file)
      if (size > maxBytes) throw new FileRefused(tooLarge)
      bytes = readFileSync(path)
    } catch (error) {
      throw error instanceof FileRefused ? error : new FileRefused(`cannot read the file: ${causeOf(error)}`)
    }
    if (bytes.length > maxBytes) throw new FileRefused(tooLarge)
    const secret = this.#secrets.find(({ value }) => bytes.includes(value))
    if (secret) throw new FileRefused(`${file} contains ${secret.name}, a secret of Turnkeep itself`)
    this.#read.add(path)
    return { path, bytes }
  }

  /** Returns the absolute path of a file that may not exist yet. Throws FileRefused. */
  pathIn(folder: string, file: string): string {
    const path = inside(folder, file)
    const real = realOrUndefined(path)
    if (real !== undefined) return refuseOutside(folder, file, real)
    const parent = realOrUndefined(dirname(path))
    // Without the folder of the file, the plan reports that it does not exist.
    return parent === undefined ? path : refuseOutside(folder, file, join(parent, basename(path)))
  }

  #existing(folder: string, file: string): string {
    const path = inside(folder, file)
    let real: string
    try {
      real = realpathSync(path)
    } catch (error) {
      throw new FileRefused(`cannot read the file: ${causeOf(error)}`)
    }
    return refuseOutside(folder, file, real)
  }
}

function regularFile(path: string, file: string): { size: number } {
  const found = statSync(path)
  if (!found.isFile()) throw new FileRefused(`${file} is not a file`)
  return found
}

/** Refuses a path outside before anything is read, so that the answer does not show whether such a file exists. */
function inside(folder: string, file: string): string {
  const path = resolve(folder, file)
  if (!isIn(folder, path) && !isIn(realOrUndefined(folder) ?? folder, path)) throw outside(folder, file)
  return path
}

function refuseOutside(folder: string, file: string, real: string): string {
  if (!isIn(realpathSync(folder), real)) throw outside(folder, file)
  return real
}

const outside = (folder: string, file: string): FileRefused =>
  new FileRefused(`${file} is outside ${folder}: a declaration can use only files in its own folder`)

function isIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
