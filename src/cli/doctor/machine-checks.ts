/** What `turnkeep doctor` can see without a server: Node, settings, and the data folder with its secrets and its disk. Changes nothing. */
import { accessSync, constants, readFileSync, statSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'

const neededMajor = 24
// A turn takes some 2 kB of disk: 100 MiB are fifty thousand turns, a morning's warning; 1 GiB a week's.
const MiB = 1024 * 1024
const scarceBytes = 1024 * MiB
const fullBytes = 100 * MiB

export function checkNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= neededMajor) return ok('node', `Node ${version}`)
  return fail('node', `this is Node ${version}`, `Install Node ${neededMajor}.`)
}

export function checkSettings(environment: Environment): Finding[] {
  const outcome = readConfig(environment)
  if (outcome.kind === 'problems')
    return outcome.problems.map((problem) => fail('settings', problem, 'Correct it; `npx turnkeep config` says what each setting means.'))
  const { publicUrl } = outcome.config
  if (publicUrl !== undefined && publicUrl.startsWith('http:') && !isThisMachine(publicUrl)) {
    const mend = 'Serve it by https through a proxy and set TURNKEEP_PUBLIC_URL to that address.'
    return [warn('settings', `TURNKEEP_PUBLIC_URL ${publicUrl} is not https: API keys travel readable by anybody on the way`, mend)]
  }
  return [ok('settings', 'every setting is accepted')]
}

/** `mayUse` is told by tests, which root passes everywhere. */
export function checkFolder({ dataFolder }: Config, mayUse = isAccessible(dataFolder)): Finding[] {
  const check = 'data folder'
  const folder = statSync(dataFolder, { throwIfNoEntry: false })
  if (!folder)
    return [warn(check, `${dataFolder} does not exist`, 'The first start makes it; or set TURNKEEP_DATA_DIR to the one you mean.')]
  if (!folder.isDirectory()) return [fail(check, `${dataFolder} is a file`, 'Set TURNKEEP_DATA_DIR to a folder.')]
  if (!mayUse)
    return [fail(check, `${dataFolder} may not be written by this user`, `Run as its owner (uid ${folder.uid}), or chown it to this user.`)]
  const open = isOpen(folder.mode)
  const mode = open
    ? warn(check, `${dataFolder} is open to other users (mode ${octal(folder.mode)})`, `chmod 700 ${dataFolder}`)
    : ok(check, dataFolder)
  return [mode, checkSpace(dataFolder)]
}

// A caller and a model for each turn, and what a process has open beside them.
const [filesATurn, filesBeside] = [2, 200]

/** `files`: how many this user's processes may have open, the larger limit, to which Node raises its own; undefined where the system does not tell. */
export function checkOpenFiles(maxTurns: number, files = openFilesLimit()): Finding[] {
  if (files === undefined) return []
  const needed = maxTurns * filesATurn + filesBeside
  const says = `${files.toLocaleString('en-US')} may be open; TURNKEEP_MAX_TURNS=${maxTurns} takes up to ${needed.toLocaleString('en-US')}`
  if (files >= needed) return [ok('open files', says)]
  return [
    warn('open files', says, `Raise the limit (systemd: LimitNOFILE=${needed}; a shell: ulimit -Hn), or set TURNKEEP_MAX_TURNS lower.`),
  ]
}

/** `bytes` is told by tests; otherwise the file system's. */
export function checkSpace(dataFolder: string, bytes = freeBytes(dataFolder)): Finding {
  const says = `${Math.floor(bytes / MiB).toLocaleString('en-US')} MiB free`
  const mend = 'Make room on that disk, or move the data folder to a larger one while the server is stopped.'
  if (bytes < fullBytes) return fail('disk', says, mend)
  return bytes < scarceBytes ? warn('disk', says, mend) : ok('disk', says)
}

/** The files that hold secrets: there where they are needed, and for this user alone. */
export function checkSecrets({ dataFolder }: Config, environment: Environment): Finding[] {
  const files = ['admin.token', 'encryption.key', 'demo.key']
  const findings = files.flatMap((file): Finding[] => {
    const path = join(dataFolder, file)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && isOpen(stat.mode))
      return [
        fail('secrets', `${path} can be read by other users (mode ${octal(stat.mode)})`, `chmod 600 ${path}, and replace what is in it.`),
      ]
    return []
  })
  const sealed =
    environment[settings.encryptionKeys.name] || exists(join(dataFolder, 'encryption.key')) || !exists(join(dataFolder, 'turnkeep.db'))
  if (!sealed) {
    const mend = 'Put the encryption.key that belongs to this database back; without it, give every provider its API key again.'
    findings.push(fail('secrets', `${join(dataFolder, 'encryption.key')} is missing beside a database`, mend))
  }
  return findings.length > 0 ? findings : [ok('secrets', 'for this user alone')]
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
// Windows has no such bits.
const isOpen = (mode: number): boolean => process.platform !== 'win32' && (mode & 0o077) !== 0
const octal = (mode: number): string => (mode & 0o777).toString(8)

function isAccessible(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function openFilesLimit(): number | undefined {
  try {
    const [, hard] = /^Max open files +\S+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return hard === undefined ? undefined : Number(hard)
  } catch {
    // Not Linux.
    return undefined
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

function isThisMachine(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}
