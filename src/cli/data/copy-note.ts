/**
 * A note in the data folder that says where its database was copied to. It is not part of the copy: `doctor` reads it, so that it does not
 * inspect a folder that no server uses any more.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseFields } from '../admin-api/client.ts'

const file = 'copied-to-postgresql.json'

/** `database` is the address without its password. */
export type CopyNote = { database: string; copiedAt: string }

/** Throws the error of the file system if the folder is not writable. */
export function writeCopyNote(folder: string, database: string): void {
  const note = { database, copied_at: new Date().toISOString() }
  writeFileSync(join(folder, file), `${JSON.stringify(note, null, 2)}\n`, { mode: 0o600 })
}

/** Returns undefined if the folder was never copied, or if a server has written to its database since. */
export function readCopyNote(folder: string): CopyNote | undefined {
  const stats = statSync(join(folder, file), { throwIfNoEntry: false })
  if (!stats) return undefined
  const usedSince = ['turnkeep.db', 'turnkeep.db-wal'].some((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    return found !== undefined && found.mtimeMs > stats.mtimeMs
  })
  const note = parseFields(readFileSync(join(folder, file), 'utf8'))
  if (usedSince || note === undefined) return undefined
  return { database: String(note['database']), copiedAt: String(note['copied_at']) }
}
