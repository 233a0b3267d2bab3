/**
 * Reads documents in a separate process, one at a time. The process is started with the first document, ended when it has been idle for a
 * while, and killed when it exceeds its limits. If it dies for any reason, the server continues: the document is refused with the reason,
 * or indexed again if the document may not be the cause.
 */
import type { Chunk } from '../knowledge/chunk.ts'
import { confinement } from '../../process/confinement.ts'
import type { Source } from './extract.ts'
import type { ReadingLimits } from './extract-messages.ts'
import { DocumentRefused, maxChunks, maxReadMs, maxHeapMegabytes, maxOutsideBytes, needsTooLong, readMsOf } from './limits.ts'
import { ReadingBrokenOff, startReadingProcess } from './reading-process.ts'
import type { ReadingProcess } from './reading-process.ts'

export type DocumentToRead = Omit<Source, 'bytes'> & {
  /** The bytes of the file, in order. */
  parts: AsyncIterable<Uint8Array>
  /** Called from time to time with the share that is done, from 0 to 1. */
  onProgress(share: number): void
  /** Called once with the CPU time in milliseconds, whatever the outcome. */
  onSpent?(cpuMs: number): void
  signal: AbortSignal
}

/** `title`: the title that the document itself contains. `bytes`: size of the whole file. `warnings`: as the process
 * says, which a document may have taken over: see `readWarnings`. */
export type ReadDocument = { title: string | null; chunks: number; bytes: number; warnings: unknown }

export interface Extractor {
  /** Reads one document; calls must not overlap. Throws DocumentRefused with the reason, ReadingBrokenOff, or `signal.reason`. */
  read(document: DocumentToRead): Promise<ReadDocument>
  /** Returns chunks of the document that was read last, within the time of one document. Throws ReadingBrokenOff, or `signal.reason`. */
  take(from: number, count: number, signal: AbortSignal): Promise<Chunk[]>
  /** No more chunks will be taken: the process may end after its idle time. */
  release(): void
  /** Ends the process immediately. */
  close(): Promise<void>
}

/** Different limits, for tests. */
export type ExtractorOptions = {
  log: ExtractorLog
  maxReadMs?: number
  /** CPU milliseconds for a file of this many bytes. */
  readMsOf?: (bytes: number) => number
  patience?: number
  idleMs?: number
  maxHeapMegabytes?: number
  maxOutsideBytes?: number
}
export type ExtractorLog = { warn(fields: object, message: string): void }

// Milliseconds. The process and its libraries take 100 MB. The next document of a batch comes immediately, a later one perhaps tomorrow.
const idleMs = 30_000
// Elapsed time may be this many times the limit of CPU time, for a busy machine. The limit ends a reader that waits forever.
const patience = 5
// Sending a piece copies it, which blocks the event loop.
const pieceBytes = 256 * 1024

export function createExtractor(options: ExtractorOptions): Extractor {
  const limits: ReadingLimits = {
    heapMegabytes: options.maxHeapMegabytes ?? maxHeapMegabytes,
    outsideBytes: options.maxOutsideBytes ?? maxOutsideBytes,
  }
  const longestMs = options.maxReadMs ?? maxReadMs
  const timeOf = options.readMsOf ?? readMsOf
  let reading: ReadingProcess | undefined
  let idle: NodeJS.Timeout | undefined

  function release(): void {
    clearTimeout(idle)
    if (reading) idle = setTimeout(() => void close(), options.idleMs ?? idleMs)
    idle?.unref()
  }

  async function close(): Promise<void> {
    clearTimeout(idle)
    const open = reading
    reading = undefined
    await open?.end(new Error('the process that reads documents was closed'))
  }

  /** Ends the process, so that `work` with it rejects, if it is aborted or takes too long. */
  async function limited<Value>(present: ReadingProcess, signal: AbortSignal, tooLate: Error, work: () => Promise<Value>): Promise<Value> {
    signal.throwIfAborted()
    const onAbort = (): void => void present.end(signal.reason as Error)
    signal.addEventListener('abort', onAbort)
    const late = (): void => void present.end(tooLate)
    const timer = setTimeout(late, longestMs * (options.patience ?? patience))
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  return {
    async read({ parts, onProgress, onSpent, signal, ...source }) {
      signal.throwIfAborted()
      clearTimeout(idle)
      const confined = await confinement()
      signal.throwIfAborted()
      if (!reading || reading.hasEnded()) reading = startReadingProcess(limits, confined)
      const present = reading
      let computingMs = longestMs
      let startedAt: number | undefined
      let spentMs: number | undefined
      const work = limited(present, signal, needsTooLong(longestMs), async () => {
        await present.say({ kind: 'begin' })
        let size = 0
        for await (const bytes of parts) {
          size += bytes.length
          for (let at = 0; at < bytes.length; at += pieceBytes)
            await present.say({ kind: 'part', bytes: bytes.subarray(at, at + pieceBytes) })
        }
        computingMs = Math.min(longestMs, timeOf(size))
        startedAt = performance.now()
        const answer = await present.ask({ kind: 'read', source, computingMs }, onProgress)
        if (answer.kind !== 'taken') spentMs = answer.cpuMs
        if (answer.kind === 'read') return isCount(answer.chunks) ? answer : endInvalid(present)
        if (answer.kind !== 'refused') throw new Error(`a process that was to read has answered ${answer.kind}`)
        if (answer.cause !== null) options.log.warn({ reason: answer.reason, cause: answer.cause }, 'could not read document')
        throw new DocumentRefused(answer.reason)
      })
      return work.finally(() => {
        // The clock of CPU time is coarse on some systems: no document is free.
        // A process that was ended, or that a document has taken over, does not say what it took: at most the time that has passed.
        const elapsedMs = startedAt === undefined ? 0 : Math.min(performance.now() - startedAt, computingMs)
        onSpent?.(Math.max(1, spentMs !== undefined && spentMs >= 0 && spentMs <= computingMs * 2 ? spentMs : elapsedMs))
      })
    },

    async take(from, count, signal) {
      const present = reading
      if (!present) throw new Error('nothing was read that could be taken')
      const frozen = new ReadingBrokenOff('the process that reads documents did not hand over its passages in time')
      const answer = await limited(present, signal, frozen, () => present.ask({ kind: 'take', from, count }))
      if (answer.kind !== 'taken') throw new Error(`a process that was to hand over has answered ${answer.kind}`)
      return answer.chunks
    },

    release,
    close,
  }
}

// A file that has taken over its reader may claim any number, and each chunk is asked for.
const isCount = (chunks: number): boolean => Number.isInteger(chunks) && chunks >= 0 && chunks <= maxChunks

async function endInvalid(present: ReadingProcess): Promise<never> {
  const error = new Error('a process that was to read has answered with an invalid number of chunks')
  await present.end(error)
  throw error
}
