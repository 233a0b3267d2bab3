/** A file that others find whole or not at all, readable by this user alone from its first byte. Never replaces one. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'

/** `fill` writes to the path it is given, which exists and is empty. Rejects with EEXIST where `file` is there, or another one is making it. */
export async function makeWhole<Result>(file: string, fill: (partial: string) => Promise<Result>): Promise<Result> {
  const partial = `${file}.partial`
  closeSync(openSync(partial, 'wx', 0o600))
  try {
    const result = await fill(partial)
    const filled = openSync(partial, 'r+')
    fsyncSync(filled)
    closeSync(filled)
    // Taken before it is filled: a rename alone would replace what somebody else put there meanwhile.
    closeSync(openSync(file, 'wx', 0o600))
    renameSync(partial, file)
    return result
  } finally {
    rmSync(partial, { force: true })
  }
}
