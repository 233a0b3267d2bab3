/**
 * Reads the replies that are too large for the answer to a batch of admissions (`idempotency.replay`). One read runs at a time, bounded by
 * bytes, and owners take turns, so that an owner that asks for many large replies does not delay the messages of others.
 */
import type { Store } from '../store/store.ts'
import type { StoredReply } from '../store/turn-records.ts'
import { Batcher } from './batcher.ts'
import type { BeginResult } from './outcome.ts'

type LargeReply = { requestId: string; bytes: number }
type Read = { kind: 'replay'; reply: StoredReply } | { kind: 'erased' }

export interface LargeReplies {
  /** Rejects with StoreUnavailable or an internal error. `not_found`: the reply was erased after the admission found it. */
  read(found: LargeReply, shareOf: string): Promise<BeginResult>
}

export function createLargeReplies(store: Store): LargeReplies {
  const reads = new Batcher<LargeReply, Read>(
    async (items) => {
      const found = await store.read.findReplies(items.map(({ requestId }) => requestId))
      return items.map(({ requestId }): Read => {
        const reply = found.get(requestId)
        return reply ? { kind: 'replay', reply } : { kind: 'erased' }
      })
    },
    // The same reply for several requests is read once for each, because each may get an error of its own.
    ({ requestId }) => [requestId],
    ({ bytes }) => bytes,
  )
  return {
    async read({ requestId, bytes }, shareOf) {
      const outcome = await reads.push({ requestId, bytes }, shareOf)
      return outcome.kind === 'erased' ? { kind: 'refused', code: 'not_found' } : outcome
    },
  }
}
