/**
 * The local checks of `turnkeep doctor`: Node version, settings, open files, the data folder, its disk and its secrets. Changes nothing.
 */
import { accessSync, constants, readFileSync, statSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, settings } from '../../config/config.ts'
import type { Config, Environment } from '../../config/config.ts'
import { confinement } from '../../process/confinement.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { docPage } from '../terminal/doc-page.ts'

const neededMajor = 24
// A turn takes about 2 kB of disk. On a busy server, 100 MiB (50,000 turns) last for hours and 1 GiB for about a week.
const MiB = 1024 * 1024
const scarceBytes = 1024 * MiB
const fullBytes = 100 * MiB

export function checkNode(version: string): Finding {
  if (Number(version.split('.')[0]) >= neededMajor) return ok('node', `Node ${version}`)
  return fail('node', `Node ${version} is too old`, `Install Node ${neededMajor}.`)
}

export function checkSettings(environment: Environment): Finding[] {
  const outcome = readConfig(environment)
  if (outcome.kind === 'problems')
    return outcome.problems.map((problem) =>
      fail('settings', problem, 'Correct the setting. `npx --no-install turnkeep config` describes all settings.'),
    )
  const { publicUrl } = outcome.config
  if (publicUrl !== undefined && publicUrl.startsWith('http:') && !isThisMachine(publicUrl)) {
    const fix = 'Serve it over https through a proxy, and set TURNKEEP_PUBLIC_URL to that address.'
    return [warn('settings', `TURNKEEP_PUBLIC_URL ${publicUrl} is not https: API keys are sent in clear text`, fix)]
  }
  return [ok('settings', 'all settings are valid')]
}

/** Tests pass `mayUse`, because every access check succeeds for root. */
export function checkFolder({ dataFolder }: Config, mayUse = isAccessible(dataFolder)): Finding[] {
  const check = 'data folder'
  const folder = statSync(dataFolder, { throwIfNoEntry: false })
  if (!folder)
    return [
      warn(
        check,
        `${dataFolder} does not exist`,
        'The first start creates it. If it should exist, set TURNKEEP_DATA_DIR to the right path.',
      ),
    ]
  if (!folder.isDirectory()) return [fail(check, `${dataFolder} is a file, not a folder`, 'Set TURNKEEP_DATA_DIR to a folder.')]
  if (!mayUse)
    return [fail(check, `this user cannot write to ${dataFolder}`, `Run as its owner (uid ${folder.uid}), or chown it to this user.`)]
  const open = isOpen(folder.mode)
  const mode = open
    ? warn(check, `${dataFolder} is accessible to other users (mode ${octal(folder.mode)})`, `chmod 700 ${dataFolder}`)
    : ok(check, dataFolder)
  return [mode, checkSpace(dataFolder)]
}

// Two sockets for each turn (caller and model), and what a process has open besides.
const [filesPerTurn, otherFiles] = [2, 200]

/** `files` is the hard limit of open files, to which Node raises its own limit; undefined if the system does not report one. */
export function checkOpenFiles(maxTurns: number, files = openFilesLimit()): Finding[] {
  if (files === undefined) return []
  const needed = maxTurns * filesPerTurn + otherFiles
  const says = `the limit is ${files.toLocaleString('en-US')}; TURNKEEP_MAX_TURNS=${maxTurns} needs up to ${needed.toLocaleString('en-US')}`
  if (files >= needed) return [ok('open files', says)]
  return [warn('open files', says, `Raise the limit (systemd: LimitNOFILE=${needed}; a shell: ulimit -Hn), or lower TURNKEEP_MAX_TURNS.`)]
}

/** How the system confines the process that reads documents. Tests pass what was found. */
export async function checkConfinement(found = confinement()): Promise<Finding> {
  const { command, words } = await found
  if (command.length > 0) return ok('documents', `read in a confined process: ${words}`)
  const fix = `Allow user namespaces for the server (${docPage('docs/knowledge.md')}#the-process-that-reads-documents), or add only documents that you trust.`
  return warn('documents', `read in a process that the system does not confine: ${words}`, fix)
}

/** `bytes` is the free space; tests pass it. */
export function checkSpace(dataFolder: string, bytes = freeBytes(dataFolder)): Finding {
  const says = `${Math.floor(bytes / MiB).toLocaleString('en-US')} MiB free`
  const fix = 'Free up space on that disk, or stop the server and move the data folder to a larger disk.'
  if (bytes < fullBytes) return fail('disk', says, fix)
  return bytes < scarceBytes ? warn('disk', says, fix) : ok('disk', says)
}

/** Checks that the secret files exist if they are needed, and that only this user can read them. */
export function checkSecrets({ dataFolder }: Config, environment: Environment): Finding[] {
  const files = ['admin.token', 'encryption.key', 'demo.key']
  const findings = files.flatMap((file): Finding[] => {
    const path = join(dataFolder, file)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat && isOpen(stat.mode))
      return [fail('secrets', `other users can read ${path} (mode ${octal(stat.mode)})`, `chmod 600 ${path}, and replace the secret.`)]
    return []
  })
  const sealed =
    environment[settings.encryptionKeys.name] || exists(join(dataFolder, 'encryption.key')) || !exists(join(dataFolder, 'turnkeep.db'))
  if (!sealed) {
    const fix =
      'Restore the encryption.key of this database. If it is lost, start once with TURNKEEP_LOST_SECRETS=on and enter the API keys again.'
    findings.push(fail('secrets', `${join(dataFolder, 'encryption.key')} is missing, but the folder has a database`, fix))
  }
  return findings.length > 0 ? findings : [ok('secrets', 'only this user can read them')]
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
// Windows has no mode bits.
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
    // Only Linux has this file.
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
