/** The main loop of a store thread: opens and closes on request, and answers calls in order and in groups. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { DatabaseSync } from 'node:sqlite'
import { SchemaRefused } from '../schema-refused.ts'
import { toWire } from './protocol.ts'
import type { Call, EarlyAnswer, Opened, SentAnswer, ThreadData } from './protocol.ts'

export type OpenThread = {
  db: DatabaseSync
  /** Never rejects. Awaits only settled promises, so that a group is answered before the next one is taken. */
  answer(calls: Call[], postEarly: (answer: EarlyAnswer) => void): Promise<SentAnswer[]>
  /** How many waiting calls `answer` takes at once. */
  maxCalls: number
}

export function serveThread(open: (data: ThreadData) => OpenThread): void {
  const port = parentPort!
  const postEarly = (answer: EarlyAnswer): void => port.postMessage(answer)
  let thread: OpenThread | undefined

  function openNow(): Opened {
    try {
      thread = open(workerData as ThreadData)
      return { opened: true }
    } catch (error) {
      const wire = toWire(error)
      const refusal = error instanceof SchemaRefused ? 'schema' : wire.kind === 'unavailable' ? 'unavailable' : 'fault'
      return { opened: false, refusal, message: wire.message }
    }
  }

  port.on('message', async (first: Call) => {
    if (!thread) return first.operation === 'close' ? port.close() : port.postMessage(openNow())
    const calls: Call[] = []
    let next: Call | undefined = first
    while (next && next.operation !== 'close') {
      calls.push(next)
      next = calls.length < thread.maxCalls ? (receiveMessageOnPort(port)?.message as Call | undefined) : undefined
    }
    if (calls.length > 0) for (const answer of await thread.answer(calls, postEarly)) port.postMessage(answer)
    if (next?.operation !== 'close') return
    thread.db.close()
    port.close()
  })
}
