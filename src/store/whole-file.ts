/**
 * Creates a file whose name never refers to partial content, readable only by this user from its first byte. Never replaces a file of
 * another process. For a moment before the rename, the name refers to an empty file.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'

/**
 * `fill` writes to the given path, which exists and is empty. Rejects with EEXIST if `file` exists, or if `file` with the suffix `.partial`
 * exists: another process is creating the file, or was killed while it did.
 */
export async function makeWhole<Result>(file: string, fill: (partial: string) => Promise<Result>): Promise<Result> {
  const partial = `${file}.partial`
  closeSync(openSync(partial, 'wx', 0o600))
  try {
    const result = await fill(partial)
    const filled = openSync(partial, 'r+')
    fsyncSync(filled)
    closeSync(filled)
    // Reserves the name before the rename, because a rename alone would replace a file that another process has created meanwhile.
    closeSync(openSync(file, 'wx', 0o600))
    renameSync(partial, file)
    return result
  } finally {
    rmSync(partial, { force: true })
  }
}
