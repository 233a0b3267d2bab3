/**
 * The file for the secret of a new key, with mode 0600. It is opened before the key is created, so that a secret is never lost for lack of
 * a writable file. Existing content is never overwritten.
 */
import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'

export type SecretFile = {
  /** Returns true if the secret is flushed to disk. Returns false if it could not be written; the caller must then print it. */
  write(secret: string): boolean
  /** Removes the file if it is still empty. */
  discard(): void
}

/** Throws CommandFailed if the file is not empty or cannot be created. */
export function openSecretFile(path: string): SecretFile {
  const file = open(path)
  const isEmpty = (): boolean => fstatSync(file).size === 0
  if (!isEmpty()) {
    closeSync(file)
    throw new CommandFailed(2, `${path} exists, and is never overwritten`)
  }
  return {
    write(secret) {
      try {
        // Another run may have opened the empty file at the same time.
        if (!isEmpty()) return false
        writeSync(file, `${secret}\n`)
        fsyncSync(file)
        return true
      } catch {
        return false
      } finally {
        closeSync(file)
      }
    },
    discard() {
      const empty = isEmpty()
      closeSync(file)
      if (empty) unlinkSync(path)
    },
  }
}

function open(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw cannotBeMade(path, error)
  }
  try {
    const file = openSync(path, 'r+')
    fchmodSync(file, 0o600)
    return file
  } catch (error) {
    throw cannotBeMade(path, error)
  }
}

const cannotBeMade = (path: string, error: unknown): CommandFailed =>
  new CommandFailed(2, `cannot write ${path}: ${causeOf(error)}; no key was created`)
