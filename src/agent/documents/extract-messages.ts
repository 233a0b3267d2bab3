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
  | { kind: 'read'; source: Omit<Source, 'bytes'> }
  /** Requests chunks of the document that was read last. */
  | { kind: 'take'; from: number; count: number }

/** Messages of the thread, which the process passes on unchanged. */
export type FromThread =
  /** `share`: from 0 to 1. */
  | { kind: 'progress'; share: number }
  | { kind: 'read'; title: string | null; chunks: number; bytes: number; warnings: DocumentWarning[] }
  /** `cause` is for the log: the type of the error and its stack, without its message. */
  | { kind: 'refused'; reason: string; cause: string | null }
  | { kind: 'taken'; chunks: Chunk[] }

export type FromReading =
  | FromThread
  /** The last message before the server ends the process. */
  | { kind: 'exceeded'; what: 'memory' | 'computing' }
  | { kind: 'failed'; cause: string }

/** `computingMs` and `outsideBytes` apply to each document, `heapMegabytes` to the thread. */
export type ReadingLimits = { computingMs: number; heapMegabytes: number; outsideBytes: number }
