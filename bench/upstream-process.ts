/**
 * The model of the bench in a separate process: POST …/chat/completions in OpenAI's format, streamed or complete, with usage, at the pace
 * that its parent sets. The first and the last token of every reply are known (call.ts), so that a client sees in any server's responses
 * when a reply starts and whether it is complete. Its own cost is kept low: everything except the ID and the usage is prepared in advance.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { firstToken, lastToken } from './call.ts'

export type UpstreamOrder = { kind: 'configure'; chunks: number; firstMs: number; gapMs: number } | { kind: 'stats' }
/** The response to each instruction, in order. The first one is sent without an instruction, when it listens. */
export type UpstreamNews = { port: number; calls: number; left: number }

const idMark = '@id@'
const usageMark = '"@usage@"'
const created = 1_700_000_000

type Script = { chunks: string[]; end: string; usage: string; whole: string; stream: string; firstMs: number; gapMs: number }

let script = write({ chunks: 50, firstMs: 0, gapMs: 0 })
const seen = { calls: 0, left: 0 }

function write({ chunks, firstMs, gapMs }: { chunks: number; firstMs: number; gapMs: number }): Script {
  const tokens = Array.from({ length: Math.max(2, chunks) }, (_, index) => (index === 0 ? firstToken : ` word${index}`))
  tokens[tokens.length - 1] = ` ${lastToken}`
  const head = { id: `chatcmpl-${idMark}`, object: 'chat.completion.chunk', created, model: 'bench' }
  const event = (choices: object[], more: object = {}): string => `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`
  const piece = (delta: object, reason: string | null = null): string => event([{ index: 0, delta, finish_reason: reason }])
  const message = { role: 'assistant', content: tokens.join(''), refusal: null }
  const parts = [
    piece({ role: 'assistant', content: '' }) + piece({ content: tokens[0] }),
    ...tokens.slice(1).map((content) => piece({ content })),
  ]
  const end = piece({}, 'stop')
  const usage = event([], { usage: JSON.parse(usageMark) as string })
  const whole = { ...head, object: 'chat.completion', choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }] }
  return {
    chunks: parts,
    end,
    usage,
    whole: JSON.stringify({ ...whole, usage: JSON.parse(usageMark) as string }),
    stream: parts.join('') + end,
    firstMs,
    gapMs,
  }
}

function answer(request: string, response: ServerResponse): void {
  const { chunks, end, usage, whole, stream, firstMs, gapMs } = script
  const number = (seen.calls += 1)
  const prompt = Math.ceil(request.length / 4)
  const counts = `{"prompt_tokens":${prompt},"completion_tokens":${chunks.length},"total_tokens":${prompt + chunks.length}}`
  const fill = (text: string): string => text.replaceAll(idMark, String(number)).replace(usageMark, counts)
  if (!/"stream":\s*true/.test(request)) {
    const text = fill(whole)
    const reply = (): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.end(text)
    }
    // As long as streaming it would take.
    const takesMs = firstMs + gapMs * (chunks.length - 1)
    return takesMs === 0 ? reply() : later(response, reply, takesMs)
  }
  const last = `${/"include_usage":\s*true/.test(request) ? usage : ''}data: [DONE]\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  if (firstMs === 0 && gapMs === 0) return void response.end(fill(stream + last))
  response.flushHeaders()
  let next = 0
  const step = (): void => {
    response.write(fill(chunks[next++]!))
    if (next < chunks.length) later(response, step, gapMs)
    else response.end(fill(end + last))
  }
  later(response, step, firstMs)
}

function later(response: ServerResponse, act: () => void, ms: number): void {
  const timer = setTimeout(() => {
    response.off('close', cancel)
    act()
  }, ms)
  const cancel = (): void => {
    seen.left += 1
    clearTimeout(timer)
  }
  response.once('close', cancel)
}

const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    if (request.url?.endsWith('/chat/completions')) return answer(Buffer.concat(pieces).toString(), response)
    response.writeHead(404, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"there is only /chat/completions here"}}')
  })
})
// A server that pools connections does not lose idle ones.
server.keepAliveTimeout = 600_000
server.headersTimeout = 610_000
server.requestTimeout = 0

const tell = (news: UpstreamNews): void => void process.send!(news)
const port = (): number => (server.address() as AddressInfo).port
process.on('message', (order: UpstreamOrder) => {
  if (order.kind === 'configure') {
    script = write(order)
    Object.assign(seen, { calls: 0, left: 0 })
  }
  tell({ port: port(), ...seen })
})
process.on('disconnect', () => process.exit())
server.listen({ port: Number(process.argv[2] ?? 0), host: '127.0.0.1', backlog: 4096 }, () => tell({ port: port(), ...seen }))
