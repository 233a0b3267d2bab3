/** One attempt at a stream: sends the message, reads events until the last one, and passes each to the reconciler. */
import { APIConnectionError, makeApiError } from './errors.ts'
import { EventReader } from './event-reader.ts'
import type { ChatStreamEvent, Reconciler } from './reconcile.ts'
import { connected, notOurs } from './request.ts'
import type { Outgoing, Send } from './request.ts'
import { statusOfCode } from './status-of-code.ts'
import type { Watch } from './watch.ts'
import { readEvent, readJson } from './wire.ts'
import type { ChatReply, WireEvent } from './wire.ts'

// Three times the 15 s in which the service sends at least a comment.
const quietMs = 45_000
// After the last event only the end of the body is left, which arrives immediately or never.
const restMs = 1_000

type Output = { reconciler: Reconciler; emit: (event: ChatStreamEvent) => void }

export async function attemptStream(send: Send, outgoing: Outgoing, watch: Watch, { reconciler, emit }: Output): Promise<ChatReply> {
  reconciler.begin()
  const response = await send({ ...outgoing, quietMs }, watch)
  if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel().catch(() => undefined)
    throw notOurs(response)
  }
  const reader = response.body.getReader()
  try {
    for await (const event of readEvents(reader, response, watch)) {
      if (event.type === 'error') throw failureOfStream(event)
      for (const leaving of reconciler.take(event)) emit(leaving)
      if (event.type === 'response.completed') {
        const { type: _, ...reply } = event
        return reply
      }
    }
    throw new APIConnectionError('The stream ended before its last event.')
  } finally {
    void readRest(reader)
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function* readEvents(reader: Reader, response: Response, watch: Watch): AsyncGenerator<WireEvent> {
  const events = new EventReader()
  for (;;) {
    const { done, value } = await watch.hold(
      connected(() => reader.read()),
      quietMs,
    )
    if (done) return
    for (const { name, data } of events.push(value)) {
      const event = readEvent(name, readJson(data))
      if (!event) throw notOurs(response)
      if (event !== 'ignored') yield event
    }
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

const failureOfStream = ({ code, message, requestId }: Extract<WireEvent, { type: 'error' }>) => {
  const status = statusOfCode[code] ?? 500
  return makeApiError(`${status} ${code}: ${message}`, { code, requestId, status })
}
