/**
 * An operator's endpoint: real HTTP on 127.0.0.1. Remembers every delivery, and answers each path as the test says.
 *
 *     await using receiver = await startReceiver()
 *     receiver.url('/hook')               // http://127.0.0.1:<port>/hook
 *     receiver.on('/hook', (delivery, response) => response.writeHead(500).end())
 *     await receiver.got('/hook', 3)      // the deliveries, when there are three
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { maxWaitMs } from './until.ts'

export type Received = {
  path: string
  id: string
  headers: Record<string, string>
  body: string
  json: { type: string; timestamp: string; data: Record<string, any> }
  /** Monotonic milliseconds. */
  at: number
  epochMs: number
}
type Answer = (received: Received, response: ServerResponse) => void

/** Without `remembers`, `received` stays empty, for runs with more deliveries than memory. */
export async function startReceiver({ remembers = true } = {}) {
  const received: Received[] = []
  const answers = new Map<string, Answer>()
  let wake = (): void => undefined
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    response.on('error', () => undefined)
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const path = request.url ?? ''
      const one = {
        path,
        id: headers['webhook-id'] ?? '',
        headers,
        body,
        json: JSON.parse(body),
        at: performance.now(),
        epochMs: Date.now(),
      }
      if (remembers) received.push(one)
      wake()
      const answer = answers.get(path)
      if (answer) answer(one, response)
      else response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const at = (path: string): Received[] => received.filter((one) => one.path === path)

  return {
    host: `127.0.0.1:${port}`,
    received,
    at,
    url: (path: string): string => `http://127.0.0.1:${port}${path}`,
    on: (path: string, answer: Answer): void => void answers.set(path, answer),
    /** Resolves with the deliveries of a path when there are at least `count`. Fails after `maxWaitMs`. */
    async got(path: string, count: number): Promise<Received[]> {
      const until = performance.now() + maxWaitMs
      while (at(path).length < count) {
        assert.ok(performance.now() < until, `${at(path).length} of ${count} deliveries to ${path}`)
        await new Promise<void>((resolve) => {
          wake = resolve
          setTimeout(resolve, 50)
        })
      }
      return at(path)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
