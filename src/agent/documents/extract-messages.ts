/**
 * The messages between the extractor, the reading process, and the thread in that process. One document at a time: `begin`, its parts,
 * `read`; after the answer, any number of `take`.
 */
import type { DocumentWarning } from '../../document-warnings.ts'
import type { Chunk } from '../knowledge/chunk.ts'
import type { Source } from './extract.ts'

export type ToReading =
  /** Discards everything sent before. */
  | { kind: 'begin' }
  | { kind: 'part'; bytes: Uint8Array }
  /** `computingMs`: the limit of CPU time for this document. */
  | { kind: 'read'; source: Omit<Source, 'bytes'>; computingMs: number }
  /** Requests chunks of the document that was read last. */
  | { kind: 'take'; from: number; count: number }

/** Messages of the thread, which the process passes on unchanged. */
export type FromThread =
  /** `share`: from 0 to 1. */
  | { kind: 'progress'; share: number }
  /** `cpuMs`: the CPU time of reading. */
  | { kind: 'read'; title: string | null; chunks: number; bytes: number; warnings: DocumentWarning[]; cpuMs: number }
  /** `cause` is for the log: the type of the error and its stack, without its message. */
  | { kind: 'refused'; reason: string; cause: string | null; cpuMs: number }
  | { kind: 'taken'; chunks: Chunk[] }

export type FromReading =
  | FromThread
  /** The last message before the server ends the process. */
  | { kind: 'exceeded'; what: 'memory' | 'computing' }
  | { kind: 'failed'; cause: string }

/** `outsideBytes` applies to each document, `heapMegabytes` to the thread. */
export type ReadingLimits = { heapMegabytes: number; outsideBytes: number }
