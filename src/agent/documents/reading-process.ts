/**
 * The server's side of the process that reads documents: starts it with nothing but a channel, sends it one request at a time, and ends it
 * whatever it is doing. The process does not outlive the server, and keeps the server alive only while a request is pending.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Confinement } from '../../process/confinement.ts'
import type { FromReading, FromThread, ReadingLimits, ToReading } from './extract-messages.ts'
import { needsTooLong, needsTooMuch } from './limits.ts'

/** The process is gone, and the document may not be the cause: the system or a person may have killed it. */
export class ReadingBrokenOff extends Error {}

export type Answer = Exclude<FromThread, { kind: 'progress' }>

export type ReadingProcess = {
  hasEnded(): boolean
  /** Resolves when the message was sent, or when the process has ended. */
  say(message: ToReading): Promise<void>
  /** Sends a request and returns the answer; requests must not overlap. Rejects with the reason for which the process ended. */
  ask(message: ToReading, onProgress?: (share: number) => void): Promise<Answer>
  /** Kills the process. Resolves when it is gone. */
  end(reason: Error): Promise<void>
}

// In characters. V8 prints why it ends a process in the first lines, followed by long stack traces.
const maxWords = 16 * 1024

/** `confined`: how the system confines the process. Throws ReadingBrokenOff if the system cannot start one. */
export function startReadingProcess(limits: ReadingLimits, confined: Confinement): ReadingProcess {
  const child = forkProcess(limits, confined)
  const gone = Promise.withResolvers<void>()
  let asked: { resolve(answer: Answer): void; reject(error: Error): void; onProgress: ((share: number) => void) | undefined } | undefined
  let ended: Error | undefined
  let words = ''
  // That of the document that is being read.
  let computingMs = 0
  keepServer(false)

  function keepServer(kept: boolean): void {
    const doing = kept ? 'ref' : 'unref'
    child[doing]()
    child.channel?.[doing]()
    if (child.stderr instanceof Socket) child.stderr[doing]()
  }

  function settle(outcome: Answer | Error): void {
    const settled = asked
    asked = undefined
    if (!ended) keepServer(false)
    if (outcome instanceof Error) settled?.reject(outcome)
    else settled?.resolve(outcome)
  }

  /** If the message cannot be sent, the process is gone, which its `close` event reports. */
  function send(message: ToReading, left: () => void = () => undefined): void {
    // A process that could not be started, for example because no file descriptors were left, has no channel.
    if (child.connected) child.send(message, left)
  }

  async function end(reason: Error): Promise<void> {
    if (!ended) killGroup()
    ended ??= reason
    keepServer(true)
    await gone.promise
  }

  /** `unshare` that is killed right after it has made the process in the namespaces leaves it behind, with the error output open. */
  function killGroup(): void {
    try {
      if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL')
      else child.kill('SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }

  function isGone(reason: Error): void {
    settle((ended ??= reason))
    gone.resolve()
  }

  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (words.length < maxWords) words += text
  })
  child.on('message', (message: FromReading) => {
    switch (message.kind) {
      case 'progress':
        return asked?.onProgress?.(message.share)
      case 'exceeded':
        return void end(message.what === 'memory' ? needsTooMuch() : needsTooLong(computingMs))
      case 'failed':
        return void end(new Error(`the process that reads documents failed: ${message.cause}`))
      default:
        return settle(message)
    }
  })
  child.on('error', (error) => {
    // The process was not started. All other failures end with the `close` event.
    if (child.pid === undefined) isGone(notStarted(error))
  })
  child.on('close', (code, signal) => isGone(causeOf(signal ?? signalOf(code) ?? `exit code ${code}`, words)))

  return {
    hasEnded: () => ended !== undefined,
    async say(message) {
      const left = Promise.withResolvers<void>()
      send(message, left.resolve)
      await Promise.race([left.promise, gone.promise])
    },
    ask(message, onProgress) {
      if (ended) return Promise.reject(ended)
      if (message.kind === 'read') computingMs = message.computingMs
      keepServer(true)
      return new Promise((resolve, reject) => {
        asked = { resolve, reject, onProgress }
        send(message)
      })
    },
    end,
  }
}

// Runs before the program, and ends by becoming it: a terminal's signals are for the server, a core file would contain the document, and
// when memory runs out, Linux should kill this process and not the largest one, which is the server. On a busy machine, documents wait for a
// processor, and turns do not.
const preparation = `
trap "" HUP INT TERM
{ ulimit -c 0; echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
if command -v nice >/dev/null; then exec nice -n 10 "$@"; fi
exec "$@"`

function forkProcess(limits: ReadingLimits, { command }: Confinement): ChildProcess {
  const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  // The process may only read its own code: a file that exploits a library can neither read other files nor start programs.
  const readable = [pathOf('..'), pathOf('../../../package.json'), ...packageFolders()]
  const nodeArgs = ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`), '--disallow-code-generation-from-strings']
  // Needed for the reading thread, which then drops the permission. Node's warning about it would end up in the error output that is parsed
  // below.
  nodeArgs.push('--allow-worker', '--disable-warning=PERM0006')
  // No signal may open the debugger.
  nodeArgs.push('--disable-sigusr1')
  // In the process and in its thread, before any other code.
  nodeArgs.push('--no-experimental-websocket', '--import', new URL('confine-code.js', import.meta.url).href)
  const confined = command.length > 0
  const run = confined
    ? { execPath: '/bin/sh', execArgv: ['-c', preparation, 'sh', ...command, process.execPath, ...nodeArgs] }
    : { execArgv: nodeArgs }
  try {
    // Loaded on first use: a server that reads no documents starts no process.
    const { fork } = process.getBuiltinModule('node:child_process')
    const child = fork(pathOf('extract-process.ts'), [JSON.stringify(limits)], {
      ...run,
      // A process group of its own: a signal to its group would otherwise reach the server, even from within namespaces.
      detached: process.platform !== 'win32',
      // No environment, because the process reads untrusted files and must not see the server's settings and secrets.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    if (!confined && child.pid !== undefined) {
      if (process.platform === 'linux') offerToKernel(child.pid)
      lowerPriority(child.pid)
    }
    return child
  } catch (error) {
    throw notStarted(error)
  }
}

/**
 * Returns where Node finds packages: the `node_modules` of the working copy, or the folder around this package if it is installed as one.
 */
function packageFolders(): string[] {
  const looked = createRequire(import.meta.url).resolve.paths('unpdf') ?? []
  const folders = looked.filter((path) => basename(path) === 'node_modules' && existsSync(path))
  return [...new Set(folders.flatMap((path) => [path, realpathSync(path)]))]
}

/** When memory runs out, Linux should kill this process and not the largest one, which is the server. */
function offerToKernel(pid: number): void {
  // If the system does not allow it, Linux picks the largest process.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined)
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended by itself.
  }
}

/** A shell reports the signal that ended its program as an exit code. */
function signalOf(code: number | null): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
}

const notStarted = (error: unknown): ReadingBrokenOff =>
  new ReadingBrokenOff('the process that reads documents could not be started', { cause: error })

/** A full heap ends the thread or sometimes the whole process, with this message and SIGABRT. */
function causeOf(how: string, words: string): Error {
  const fatal = /^(?:FATAL ERROR|# Fatal).*/m.exec(words)?.[0]
  if (fatal !== undefined && /out of memory/i.test(fatal)) return needsTooMuch()
  return new ReadingBrokenOff(`the process that reads documents was ended by ${how}${fatal === undefined ? '' : `, with "${fatal}"`}`)
}
