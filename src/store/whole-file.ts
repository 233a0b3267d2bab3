/**
 * Creates a file whose name never refers to partial content, readable only by this user from its first byte. Never replaces a file of
 * another process.
 */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { flushFolder } from '../flush-folder.ts'

/**
 * `fill` writes to the given path, which exists and is empty. Rejects with EEXIST if `file` exists, or if `file` with the suffix `.partial`
 * exists: another process is creating the file, or was killed while it did.
 */
export async function makeWhole<Result>(file: string, fill: (partial: string) => Promise<Result>): Promise<Result> {
  const partial = `${file}.partial`
  closeSync(openSync(partial, 'wx', 0o600))
  try {
    const result = await fill(partial)
    nameWhole(partial, file)
    return result
  } finally {
    rmSync(partial, { force: true })
  }
}

/** Gives a complete file its name, when its content is durable. Throws EEXIST if `file` exists. */
export function nameWhole(partial: string, file: string): void {
  const filled = openSync(partial, 'r+')
  fsyncSync(filled)
  closeSync(filled)
  renameToNew(partial, file)
  rmSync(partial, { force: true })
  flushFolder(dirname(file))
}

/** A rename alone would replace a file that another process has created meanwhile. */
function renameToNew(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!hasNoLinks(error)) throw error
    // For a moment, the name refers to an empty file.
    closeSync(openSync(to, 'wx', 0o600))
    renameSync(from, to)
  }
}

/** Some file systems have no hard links, such as those of USB sticks and of some network drives. */
const hasNoLinks = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(String(error.code))
