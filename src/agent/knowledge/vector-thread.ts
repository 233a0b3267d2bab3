/** The thread that holds and compares vectors, so that no search takes time from streams. Does as it is told, in order; never reads the store. */
import { endianness } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { VectorSet } from './vector-set.ts'
import type { Nearest } from './vector-set.ts'

/** `set`: one agent's vectors of one model. */
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
      // Another length is another model's under the same name: nothing is near.
      const nearest = set?.dimensions === message.query.length ? set.nearest(message.query, message.limit) : []
      port.postMessage({ id: message.id, nearest } satisfies FromVectors)
      break
    }
    case 'close':
      port.close()
  }
})

/** Stored little-endian. */
function floatsOf(stored: Uint8Array): Float32Array {
  // A copy of its own begins where a float may.
  const bytes = new Uint8Array(stored)
  if (endianness() === 'BE') Buffer.from(bytes.buffer).swap32()
  return new Float32Array(bytes.buffer)
}
