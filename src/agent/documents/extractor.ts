/**
 * Reads documents in a thread of its own, one at a time. The thread is started with the first document, ended when none comes for a while, and
 * ended at once when it takes too long or too much; the process goes on and the document is refused with the reason.
 */
import { getCompileCacheDir } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Chunk } from '../knowledge/chunk.ts'
import type { Source } from './extract.ts'
import { DocumentRefused, inMebibytes, longestReadMs, mostHeapMegabytes, mostOutsideBytes } from './limits.ts'
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts'

export type DocumentToRead = Omit<Source, 'bytes'> & {
  /** Its bytes in order. What is handed over is gone: the memory goes to the thread. */
  parts: AsyncIterable<Uint8Array<ArrayBuffer>>
  /** Told now and then, from 0 to 1. */
  onProgress(share: number): void
  signal: AbortSignal
}

/** `title`: what the document calls itself. `bytes`: of the whole file. */
export type ReadDocument = { title: string | null; chunks: number; bytes: number }

export interface Extractor {
  /** One at a time. Throws DocumentRefused with the reason, or `signal.reason`. */
  read(document: DocumentToRead): Promise<ReadDocument>
  /** Some chunks of the document that was read last. */
  take(from: number, count: number): Promise<Chunk[]>
  /** Nothing more is taken of it: the thread may end. */
  release(): void
  /** Ends the thread, whatever it does. */
  close(): Promise<void>
}

/** Other limits than the named ones, for tests. */
export type ExtractorOptions = {
  log: ExtractorLog
  longestReadMs?: number
  patience?: number
  idleMs?: number
  mostHeapMegabytes?: number
  mostOutsideBytes?: number
}
export type ExtractorLog = { warn(fields: object, message: string): void }

// The thread and its readers hold 60 MB; the next document of a batch comes at once, the next one after that perhaps tomorrow.
const idleMs = 30_000
// A file that swells does it by some 100 MB in this time.
const watchEveryMs = 100
// How much longer than it computes a document may take, on a machine that has other things to do, or where its reader waits for ever.
const patience = 5
// Enough for the deepest page that is no attack; the stack of a thread comes out of its memory.
const stackMegabytes = 4

export function createExtractor(options: ExtractorOptions): Extractor {
  let thread: Thread | undefined
  let idle: NodeJS.Timeout | undefined

  function release(): void {
    clearTimeout(idle)
    if (thread) idle = setTimeout(() => void close(), options.idleMs ?? idleMs)
    idle?.unref()
  }

  async function close(): Promise<void> {
    clearTimeout(idle)
    const open = thread
    thread = undefined
    await open?.end(new Error('the thread that reads documents was closed'))
  }

  return {
    async read({ parts, onProgress, signal, ...source }) {
      signal.throwIfAborted()
      clearTimeout(idle)
      if (!thread || thread.hasEnded()) thread = startThread(options.mostHeapMegabytes ?? mostHeapMegabytes)
      const present = thread
      const onAbort = (): void => void present.end(signal.reason as Error)
      signal.addEventListener('abort', onAbort)
      const limitMs = options.longestReadMs ?? longestReadMs
      let timer: NodeJS.Timeout | undefined
      let spentBeforeMs: number | undefined
      let done = false
      const keepWithin = async (): Promise<void> => {
        const seen = await present.look()
        if (!seen || done) return
        spentBeforeMs ??= seen.cpuMs
        if (seen.outsideBytes > (options.mostOutsideBytes ?? mostOutsideBytes)) await present.end(tooMuch())
        if (seen.cpuMs - spentBeforeMs > limitMs) await present.end(tooLong(limitMs))
      }
      // A thread that cannot be watched reads nothing.
      const watch = setInterval(() => keepWithin().catch((error: Error) => present.end(error)), watchEveryMs)
      try {
        present.say({ kind: 'begin' })
        for await (const bytes of parts) present.say({ kind: 'part', bytes }, [bytes.buffer])
        timer = setTimeout(() => void present.end(tooLong(limitMs)), limitMs * (options.patience ?? patience))
        const answer = await present.ask({ kind: 'read', source }, onProgress)
        if (answer.kind === 'read') return answer
        if (answer.kind !== 'refused') throw new Error(`a thread that was to read has answered ${answer.kind}`)
        if (answer.cause !== null) options.log.warn({ reason: answer.reason, cause: answer.cause }, 'a document could not be read')
        throw new DocumentRefused(answer.reason)
      } finally {
        done = true
        clearTimeout(timer)
        clearInterval(watch)
        signal.removeEventListener('abort', onAbort)
      }
    },

    async take(from, count) {
      if (!thread) throw new Error('nothing was read that could be taken')
      const answer = await thread.ask({ kind: 'take', from, count })
      if (answer.kind !== 'taken') throw new Error(`a thread that was to hand over has answered ${answer.kind}`)
      return answer.chunks
    },

    release,
    close,
  }
}

const tooLong = (limitMs: number): DocumentRefused =>
  new DocumentRefused(`This document could not be read within ${limitMs / 1000} seconds of computing. Split it into smaller ones.`)
const tooMuch = (): DocumentRefused =>
  new DocumentRefused(
    `This document needs more memory to be read than a document is given (${mostHeapMegabytes} MB, and ${inMebibytes(mostOutsideBytes)} for what it decompresses to). Split it into smaller ones.`,
  )

type Thread = {
  hasEnded(): boolean
  /** Lost on a thread that has ended. */
  say(message: ToThread, transfer?: ArrayBuffer[]): void
  /** One at a time; rejects with the reason for which the thread ended. */
  ask(message: ToThread, onProgress?: (share: number) => void): Promise<FromThread>
  /** What it holds outside of its heap, and what it has computed since it began; also while it is busy. Undefined before and after its life. */
  look(): Promise<{ outsideBytes: number; cpuMs: number } | undefined>
  end(reason: Error): Promise<void>
}

function startThread(heapMegabytes: number): Thread {
  const data: ThreadData = { compileCache: getCompileCacheDir() ?? null }
  const worker = new Worker(new URL('./extract-thread.ts', import.meta.url), {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes, stackSizeMb: stackMegabytes },
    // It reads files of strangers: it is shown no setting and no secret of the process.
    env: {},
    // What libraries print of a file is no line of ours.
    stdout: true,
    stderr: true,
  })
  worker.stdout.resume()
  worker.stderr.resume()
  let waiting:
    | { resolve(answer: FromThread): void; reject(error: Error): void; onProgress: ((share: number) => void) | undefined }
    | undefined
  let ended: Error | undefined
  // Only a document that is being read keeps the process.
  worker.unref()

  function settle(outcome: FromThread | Error): void {
    const asked = waiting
    waiting = undefined
    worker.unref()
    if (outcome instanceof Error) asked?.reject(outcome)
    else asked?.resolve(outcome)
  }

  async function end(reason: Error): Promise<void> {
    ended ??= reason
    await worker.terminate()
  }

  worker.on('message', (message: FromThread) => {
    if (message.kind === 'progress') waiting?.onProgress?.(message.share)
    else settle(message)
  })
  worker.on('error', (error: Error & { code?: string }) => {
    ended ??= error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch() : error
  })
  worker.on('exit', () => settle((ended ??= new Error('the thread that reads documents ended by itself'))))

  return {
    hasEnded: () => ended !== undefined,
    say: (message, transfer) => worker.postMessage(message, transfer),
    ask(message, onProgress) {
      if (ended) return Promise.reject(ended)
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject, onProgress }
        worker.postMessage(message)
      })
    },
    async look() {
      try {
        const [{ external_memory: outsideBytes }, { user, system }] = await Promise.all([worker.getHeapStatistics(), worker.cpuUsage()])
        return { outsideBytes, cpuMs: (user + system) / 1000 }
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_NOT_RUNNING') return undefined
        throw error
      }
    },
    end,
  }
}
