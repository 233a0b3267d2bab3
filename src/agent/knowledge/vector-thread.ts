/**
 * The worker thread that stores and compares vectors, so that a search does not block the streams on the main thread. It processes messages
 * in order and does not read the store.
 */
import { endianness } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { VectorSet } from './vector-set.ts'
import type { Nearest } from './vector-set.ts'

/** `set`: key of one agent's vectors of one embedding model. */
export type ToVectors =
  | { kind: 'add'; set: string; dimensions: number; chunkIds: number[]; documentIds: string[]; vectors: Uint8Array }
  | { kind: 'drop'; set: string; documentIds: string[] }
  | { kind: 'forget'; set: string }
  | { kind: 'search'; set: string; id: number; query: Float32Array; limit: number }
  | { kind: 'close' }

export type FromVectors = { id: number; nearest: Nearest[] }

const port = parentPort!
const sets = new Map<string, VectorSet>()

port.on('message', (message: ToVectors) => {
  switch (message.kind) {
    case 'add': {
      const { dimensions, chunkIds, documentIds, vectors } = message
      const set = sets.get(message.set) ?? new VectorSet(dimensions)
      sets.set(message.set, set)
      set.add(chunkIds, documentIds, floatsOf(vectors))
      break
    }
    case 'drop':
      sets.get(message.set)?.drop(new Set(message.documentIds))
      break
    case 'forget':
      sets.delete(message.set)
      break
    case 'search': {
      const set = sets.get(message.set)
      // If the dimensions differ, the provider now runs another model under the same name, and the vectors cannot be compared.
      const nearest = set?.dimensions === message.query.length ? set.nearest(message.query, message.limit) : []
      port.postMessage({ id: message.id, nearest } satisfies FromVectors)
      break
    }
    case 'close':
      port.close()
  }
})

/** Reads vectors, which are stored in little-endian order. */
function floatsOf(stored: Uint8Array): Float32Array {
  // Copied, because a Float32Array must start at an aligned offset.
  const bytes = new Uint8Array(stored)
  if (endianness() === 'BE') Buffer.from(bytes.buffer).swap32()
  return new Float32Array(bytes.buffer)
}
