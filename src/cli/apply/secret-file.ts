/**
 * Where the secret of a new key goes: a file of mode 0600 that is opened before the key is asked for, so that no secret comes to nowhere to
 * stand. What somebody else has written is never written over.
 */
import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'

export type SecretFile = {
  /** On disk when it answers true; false where it could not be written, and then the secret has to go elsewhere. */
  write(secret: string): boolean
  /** Takes the empty file away again. */
  discard(): void
}

/** Throws CommandFailed with code 1 where there is something in the file, or it cannot be made. */
export function openSecretFile(path: string): SecretFile {
  const file = open(path)
  const isEmpty = (): boolean => fstatSync(file).size === 0
  if (!isEmpty()) {
    closeSync(file)
    throw new CommandFailed(1, `${path} is there already, and is never overwritten`)
  }
  return {
    write(secret) {
      try {
        // Two runs may have found it empty together.
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
  new CommandFailed(1, `${path} cannot be written: ${causeOf(error)}; no key was made`)
