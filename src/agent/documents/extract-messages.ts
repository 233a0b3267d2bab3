/**
 * What the extractor, the process that reads and the thread in that process say to each other. One document at a time: `begin`, its parts, `read`;
 * after its answer, any number of `take`.
 */
import type { Chunk } from '../knowledge/chunk.ts'
import type { Source } from './extract.ts'

export type ToReading =
  /** Whatever came before is of no use any more. */
  | { kind: 'begin' }
  | { kind: 'part'; bytes: Uint8Array }
  | { kind: 'read'; source: Omit<Source, 'bytes'> }
  /** Chunks of the document that was read last. */
  | { kind: 'take'; from: number; count: number }

/** What the thread says; the process hands it on as it is. */
export type FromThread =
  /** From 0 to 1. */
  | { kind: 'progress'; share: number }
  | { kind: 'read'; title: string | null; chunks: number; bytes: number }
  /** `cause` is for the log: the words of a library, or a fault of ours. */
  | { kind: 'refused'; reason: string; cause: string | null }
  | { kind: 'taken'; chunks: Chunk[] }

export type FromReading =
  | FromThread
  /** The last that is heard: the process is to be ended. */
  | { kind: 'exceeded'; what: 'memory' | 'computing' }
  | { kind: 'failed'; cause: string }

/** Of one document each, but for the heap. */
export type ReadingLimits = { computingMs: number; heapMegabytes: number; outsideBytes: number }
