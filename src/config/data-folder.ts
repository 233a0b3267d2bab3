/**
 * The data folder and the secrets in it: admin token, encryption key and demo key, each in its own file with mode 0600. A file exists
 * completely or not at all, whenever the process is killed. Secrets are never printed. (The store manages the database's files.)
 */
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { flushFolder } from '../flush-folder.ts'
import { encryptionKeys } from './config-values.ts'
import { generateEncryptionKey } from './secrets.ts'

export type SecretFile = 'admin.token' | 'encryption.key' | 'demo.key'

/** The folder cannot be created, read or written. The message is one line for the operator. */
export class DataFolderRefused extends Error {}

export interface DataFolder {
  /** Absolute. */
  readonly path: string
  /** The absolute path of a secret's file. */
  pathOf(file: SecretFile): string
  /** The text of a secret, or undefined if its file does not exist. */
  read(file: SecretFile): string | undefined
  /** The text of a secret. If it does not exist, generates and stores one. Two processes at the same time get the same text. */
  readOrMake(file: SecretFile, make: () => string): string
  /** Replaces a secret. */
  replace(file: SecretFile, text: string): void
}

/** Opens the folder, and creates it (mode 0700) if it does not exist. `path` is absolute. Throws DataFolderRefused. */
export function openDataFolder(path: string): DataFolder {
  refusing(path, () => {
    makeFolder(path)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  })
  const pathOf = (file: SecretFile): string => join(path, file)

  function read(file: SecretFile): string | undefined {
    try {
      return readFileSync(pathOf(file), 'utf8').trim()
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw new DataFolderRefused(`cannot read ${pathOf(file)} (${codeOf(error)})`)
    }
  }

  /** Writes the text to a temporary file that `place` moves to its path. Everything is on the disk before this returns. */
  function write(file: SecretFile, text: string, place: (temporary: string, final: string) => void): void {
    const temporary = `${pathOf(file)}.${randomBytes(8).toString('hex')}`
    refusing(path, () => {
      try {
        writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true })
        place(temporary, pathOf(file))
        flushFolder(path)
      } finally {
        rmSync(temporary, { force: true })
      }
    })
  }

  return {
    path,
    pathOf,
    read,
    readOrMake(file, make) {
      const present = read(file)
      if (present !== undefined && present !== '') return present
      if (present === '') throw new DataFolderRefused(`${pathOf(file)} is empty: remove it, and the next start generates a new one`)
      const made = make()
      let lost = false
      write(file, made, (temporary, final) => {
        try {
          linkSync(temporary, final)
        } catch (error) {
          // Another process created the same secret a moment before. Its text counts.
          if (codeOf(error) !== 'EEXIST') throw error
          lost = true
        }
      })
      return lost ? this.readOrMake(file, make) : made
    },
    replace: (file, text) => write(file, text, renameSync),
  }
}

export type Secrets = {
  adminToken: string
  encryptionKeys: Uint8Array[]
  /** Stores a new encryption key. Undefined if the key was given or exists. */
  storeKey?: (() => void) | undefined
}

/**
 * The secrets that are set. The others are read from their files, or generated. A new encryption key is not stored yet: if the store has
 * secrets that it does not open, the next start must not find it. Throws DataFolderRefused.
 */
export function readSecrets(
  given: { adminToken: string | undefined; encryptionKeys: Uint8Array[] | undefined },
  folder: DataFolder,
): Secrets {
  const adminToken = given.adminToken ?? folder.readOrMake('admin.token', () => randomBytes(32).toString('base64url'))
  if (given.encryptionKeys) return { adminToken, encryptionKeys: given.encryptionKeys }
  const isNew = folder.read('encryption.key') === undefined
  const made = Buffer.from(generateEncryptionKey()).toString('base64')
  const text = isNew ? made : folder.readOrMake('encryption.key', () => made)
  const keys = encryptionKeys(text)
  if (!keys) throw new DataFolderRefused(`${folder.pathOf('encryption.key')} does not contain a 32-byte key in base64`)
  return { adminToken, encryptionKeys: keys, storeKey: isNew ? () => void folder.readOrMake('encryption.key', () => made) : undefined }
}

/** One level at a time: Node's recursive mkdir never returns below a folder where nothing can be created, such as /proc. */
function makeFolder(path: string): void {
  const parent = dirname(path)
  if (parent !== path && !existsSync(parent)) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!isFolder(path)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function refusing(path: string, action: () => void): void {
  try {
    action()
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined) throw error
    throw new DataFolderRefused(`cannot ${reasons[code]?.action ?? 'use'} the data folder ${path}: ${reasons[code]?.cause ?? code}`)
  }
}

const reasons: Record<string, { action: 'create' | 'write to'; cause: string }> = {
  EACCES: { action: 'write to', cause: 'permission denied; set TURNKEEP_DATA_DIR to a folder that this user owns' },
  EPERM: { action: 'write to', cause: 'operation not permitted; set TURNKEEP_DATA_DIR to a folder that this user owns' },
  EROFS: { action: 'write to', cause: 'the file system is read-only; set TURNKEEP_DATA_DIR to a writable folder' },
  ENOTDIR: { action: 'create', cause: 'part of its path is a file, not a folder' },
  ENOENT: { action: 'create', cause: 'its parent cannot contain folders; set TURNKEEP_DATA_DIR to another folder' },
  EEXIST: { action: 'create', cause: 'a file of this name exists' },
  ENOSPC: { action: 'write to', cause: 'the disk is full' },
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
