/**
 * The process that reads documents, as its server sees it: started with nothing of the server's but a channel, asked one thing at a time, ended
 * whatever it does. It never outlives its server, and keeps it alive only while it is asked something.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FromReading, FromThread, ReadingLimits, ToReading } from './extract-messages.ts'
import { needsTooLong, needsTooMuch } from './limits.ts'

/** The process is gone, and not by the document as far as is known: the machine may have ended it, or a person. */
export class ReadingBrokenOff extends Error {}

export type Answer = Exclude<FromThread, { kind: 'progress' }>

export type ReadingProcess = {
  hasEnded(): boolean
  /** Resolves when it has left; lost on a process that has ended. */
  say(message: ToReading): Promise<void>
  /** One at a time; rejects with the reason for which the process ended. */
  ask(message: ToReading, onProgress?: (share: number) => void): Promise<Answer>
  /** Resolves when it is gone. */
  end(reason: Error): Promise<void>
}

// V8 says why it ends a process within its first lines, before pages about its stack.
const maxWords = 16 * 1024

/** Throws ReadingBrokenOff where the machine starts no process. */
export function startReadingProcess(limits: ReadingLimits): ReadingProcess {
  const child = forkProcess(limits)
  const gone = Promise.withResolvers<void>()
  let asked: { resolve(answer: Answer): void; reject(error: Error): void; onProgress: ((share: number) => void) | undefined } | undefined
  let ended: Error | undefined
  let words = ''
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

  /** Where it does not arrive, the process is gone, which is told by itself. */
  function send(message: ToReading, left: () => void = () => undefined): void {
    // One that was not started for want of files has no channel, nor a way to send.
    if (child.connected) child.send(message, left)
  }

  async function end(reason: Error): Promise<void> {
    ended ??= reason
    keepServer(true)
    child.kill('SIGKILL')
    await gone.promise
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
        return void end(message.what === 'memory' ? needsTooMuch() : needsTooLong(limits.computingMs))
      case 'failed':
        return void end(new Error(`the process that reads documents failed: ${message.cause}`))
      default:
        return settle(message)
    }
  })
  child.on('error', (error) => {
    // Nothing was started. All else that goes wrong ends with its end.
    if (child.pid === undefined) isGone(notStarted(error))
  })
  child.on('close', (code, signal) => isGone(causeOf(signal ?? `exit code ${code}`, words)))

  return {
    hasEnded: () => ended !== undefined,
    async say(message) {
      const left = Promise.withResolvers<void>()
      send(message, left.resolve)
      await Promise.race([left.promise, gone.promise])
    },
    ask(message, onProgress) {
      if (ended) return Promise.reject(ended)
      keepServer(true)
      return new Promise((resolve, reject) => {
        asked = { resolve, reject, onProgress }
        send(message)
      })
    },
    end,
  }
}

function forkProcess(limits: ReadingLimits): ChildProcess {
  const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  // Its own code and nothing else: a file that talks a library into reading another one, or into starting a program, gets neither.
  const readable = [pathOf('..'), pathOf('../../../package.json'), ...packageFolders()]
  const execArgv = ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`), '--disallow-code-generation-from-strings']
  // For the one thread it reads in, which then gives it up. Node's warning of it would be read as words of the end.
  execArgv.push('--allow-worker', '--disable-warning=PERM0006')
  try {
    // Loaded here: a server that reads no document starts no process.
    const { fork } = process.getBuiltinModule('node:child_process')
    const child = fork(pathOf('extract-process.ts'), [JSON.stringify(limits)], {
      execArgv,
      // It reads files of strangers: it is shown no setting and no secret of the server.
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    if (process.platform === 'linux' && child.pid !== undefined) offerToKernel(child.pid)
    return child
  } catch (error) {
    throw notStarted(error)
  }
}

/** Where Node looks for packages from here: the working copy's own folder of them, or those around this one where it is a package itself. */
function packageFolders(): string[] {
  const looked = createRequire(import.meta.url).resolve.paths('unpdf') ?? []
  const folders = looked.filter((path) => basename(path) === 'node_modules' && existsSync(path))
  return [...new Set(folders.flatMap((path) => [path, realpathSync(path)]))]
}

/** Where memory runs out, Linux ends the process that says so of itself, and not the largest one, which is the server. */
function offerToKernel(pid: number): void {
  // Where the system does not let us, the largest one it is.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined)
}

const notStarted = (error: unknown): ReadingBrokenOff =>
  new ReadingBrokenOff('the process that reads documents could not be started', { cause: error })

/** A heap that is full ends the thread, or now and then the whole process, with these words and SIGABRT. */
function causeOf(how: string, words: string): Error {
  const fatal = /^(?:FATAL ERROR|# Fatal).*/m.exec(words)?.[0]
  if (fatal !== undefined && /out of memory/i.test(fatal)) return needsTooMuch()
  return new ReadingBrokenOff(`the process that reads documents was ended by ${how}${fatal === undefined ? '' : `, with "${fatal}"`}`)
}
