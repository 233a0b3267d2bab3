/**
 * A proxy before the server that handles the requests of one command as a test says: held, dropped before they arrive, or their responses
 * lost.
 */
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** `drop`: the server never receives it · `lose`: the server has executed it, and its response does not arrive. */
export type Passage = 'forward' | 'drop' | 'lose'

export type Gate = { url: string; [Symbol.asyncDispose](): Promise<void> }

/** `decide` is called for each request; `count` is how many with this method and path came before. */
export async function openGate(
  target: string,
  decide: (request: { method: string; path: string; count: number }) => Passage | Promise<Passage>,
): Promise<Gate> {
  const seen = new Map<string, number>()
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '' } = request
      const path = url.replace(/^\/admin\/v1|\?.*$/g, '')
      const count = seen.get(`${method} ${path}`) ?? 0
      seen.set(`${method} ${path}`, count + 1)
      const body = await whole(request)
      const passage = await decide({ method, path, count })
      if (passage === 'drop') {
        request.socket.destroy()
        return
      }
      const { authorization = '', 'content-type': type } = request.headers
      const answer = await fetch(`${target}${url}`, {
        method,
        headers: { authorization, ...(type === undefined ? {} : { 'content-type': type }) },
        ...(body.length > 0 ? { body } : {}),
      })
      const text = await answer.text()
      if (passage === 'lose') request.socket.destroy()
      else response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' }).end(text)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function whole(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
