/**
 * `overload.downloads`: the reports and exports that are being downloaded write one part at a time, senders take turns, and after a part they
 * rest for as long as it took. So all of them together leave at least half of the event loop to other requests.
 */
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { senderOf } from '../edge/unfinished-bodies.ts'
import { Batcher } from '../../turn/batcher.ts'

// A part that takes longer waits for the store, and leaves its place.
const maxPartMs = 100

type Part = { kind: 'part'; next: Promise<IteratorResult<string>> }

// Each counts as a full batch, so there is one at a time.
const writes = new Batcher<() => Promise<IteratorResult<string>>, Part>(
  async ([readNext]) => {
    const startedAt = performance.now()
    const next = readNext!()
    await Promise.race([next.catch(() => undefined), delay(maxPartMs)])
    await delay(performance.now() - startedAt)
    return [{ kind: 'part', next }]
  },
  () => [],
  () => Infinity,
)

/** A body that is read part by part. The response to a HEAD request has no body, so none of it is read. */
export const streamOf = (request: Partial<FastifyRequest>, parts: AsyncIterable<string>): Readable =>
  Readable.from(request.method === 'HEAD' ? [] : inTurn(parts, senderOf(request) ?? ''))

async function* inTurn(parts: AsyncIterable<string>, sender: string): AsyncGenerator<string> {
  const reader = parts[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { next } = await writes.push(() => reader.next(), sender)
      const { done, value } = await next
      if (done) return
      yield value
    }
  } finally {
    await reader.return?.()
  }
}
