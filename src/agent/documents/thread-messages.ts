/** What the extractor and its thread say to each other. One document at a time: `begin`, its parts, `read`; after its answer, any number of `take`. */
import type { Chunk } from '../knowledge/chunk.ts'
import type { Source } from './extract.ts'

export type ToThread =
  /** Whatever came before is of no use any more. */
  | { kind: 'begin' }
  | { kind: 'part'; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'read'; source: Omit<Source, 'bytes'> }
  /** Chunks of the document that was read last. */
  | { kind: 'take'; from: number; count: number }

export type FromThread =
  /** From 0 to 1. */
  | { kind: 'progress'; share: number }
  | { kind: 'read'; title: string | null; chunks: number; bytes: number }
  /** `cause` is for the log: the words of a library, or a fault of ours. */
  | { kind: 'refused'; reason: string; cause: string | null }
  | { kind: 'taken'; chunks: Chunk[] }

/** Where the process keeps what Node compiled; a thread does not inherit it. */
export type ThreadData = { compileCache: string | null }
