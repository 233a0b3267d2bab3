/** Reads the events of one response, for every stream of this client: bytes to events of the service, up to the end of the body. */
import { EventReader } from './event-reader.ts'
import { connected, notOurs } from './request.ts'
import type { Watch } from './watch.ts'
import { readEvent, readJson } from './wire.ts'
import type { WireEvent } from './wire.ts'

// Three times the 15 s in which the service sends at least a comment.
export const quietMs = 45_000
// After the last event only the end of the body is left, which arrives immediately or never.
const restMs = 1_000

type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * Yields the events that this client knows. Throws APIConnectionError for a response that is not an event stream of the service, for a
 * broken connection, and after `quietMs` milliseconds without a byte. Leaving the loop early leaves the connection reusable if the body
 * ends soon.
 */
export async function* readEvents(response: Response, watch: Watch): AsyncGenerator<WireEvent, void, undefined> {
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel().catch(() => undefined)
    throw notOurs(response)
  }
  const reader = response.body.getReader()
  const events = new EventReader()
  try {
    for (;;) {
      const { done, value } = await watch.hold(
        connected(() => reader.read()),
        quietMs,
      )
      if (done) return
      for (const { name, data, id } of events.push(value)) {
        const event = readEvent(name, readJson(data), id)
        if (!event) throw notOurs(response)
        if (event !== 'ignored') yield event
      }
    }
  } finally {
    void readRest(reader)
  }
}

/**
 * Reads the body to its end, so that the connection can be used again. If the end does not arrive soon, closes the connection. Never
 * rejects.
 */
async function readRest(reader: Reader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), restMs)
  try {
    while (!(await reader.read()).done);
  } catch {
    // Broken, or canceled by its caller: nothing is left to read.
  } finally {
    clearTimeout(timer)
  }
}
