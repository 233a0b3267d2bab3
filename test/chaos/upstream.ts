/**
 * The model server, the embedding server, the tool server and the receiver of webhooks of a run, over real HTTP on one free port. A message itself says what to do
 * with a call (messages.ts), so a run has no script. Every call and its end is recorded in the history. It does not know to which turn a
 * call belongs and does not store replies: each contains the serial number of its own call, so a second one is noticed.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pass } from 'node:timers/promises'
import { answer as answerWebhook, counts, mannerOf } from '../support/receiver-manners.ts'
import type { Shares } from '../support/receiver-manners.ts'
import type { History, ModelReport } from './history.ts'
import { behaviours, hiddenWords, readMessage, reasoningText } from './messages.ts'
import type { Deed, ToolManner, ToolWanted } from './messages.ts'

export type Upstream = {
  /** As a provider's base URL. */
  modelUrl: string
  toolUrl: string
  webhookUrl: string
  /** For `TURNKEEP_ALLOW_PRIVATE_HOSTS`. */
  allowPrivateHosts: string
  /** Silent connections break off now, and no response is silent or slow any more. */
  hurry(): void
  /** Ends every connection. Hanging calls are recorded as aborted. */
  close(): Promise<void>
}

/** Of 10,000 first attempts. */
const shares: Shares = { error: 1_500, close: 700, redirect: 500, slow: 800, cut: 700, hang: 40 }

type Prompt = { messages: { role: string; content: string | null; tool_calls?: unknown }[]; tools?: unknown[] }

export async function openUpstream({ history }: { history: History }): Promise<Upstream> {
  const hurried = new AbortController()
  const callsOf = new Map<string, number>()
  let serials = 0
  const attemptsOf = new Map<string, number>()

  const server = createServer((request, response) => {
    // Callers who disconnect during a call are expected here.
    response.on('error', () => response.destroy())
    answer(request, response).catch(() => response.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    switch (request.url) {
      case '/v1/chat/completions':
        return model(response, JSON.parse(body) as Prompt)
      case '/v1/embeddings':
        return json(response, 200, embeddings(JSON.parse(body) as { input: string[] }))
      case '/look':
      case '/book':
        return tool(request, response, body)
      case '/webhook':
        return receive(String(request.headers['webhook-id']), body, response)
      default:
        return json(response, 404, { error: { message: 'no such path' } })
    }
  }

  /** Fails now and then, but not in the end. */
  function receive(id: string, body: string, response: ServerResponse): void {
    const attempt = (attemptsOf.get(id) ?? 0) + 1
    attemptsOf.set(id, attempt)
    const manner = hurried.signal.aborted ? 'ok' : mannerOf(id, attempt, shares)
    history.write({ kind: 'webhook', at: history.now(), id, body, manner, accepted: counts(manner) })
    answerWebhook(manner, response)
  }

  async function model(response: ServerResponse, { messages }: Prompt): Promise<void> {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const message = messages[at]?.content ?? ''
    const steps = messages.slice(at).filter(({ tool_calls: calls }) => calls !== undefined).length
    const nth = (callsOf.get(message) ?? 0) + 1
    callsOf.set(message, nth)
    const read = readMessage(message)
    const deed: Deed = read ? behaviours[read.behaviour]!.deed(read.asked, nth, steps) : { does: 'status', status: 400 }
    const serial = ++serials
    const canary = read?.canary ?? ''
    const pieces = piecesOf(deed, { serial, name: read?.name ?? '', canary, messages, at })
    const usage = usageOf(deed, messages, pieces.length)
    const { does } = deed
    history.write({
      kind: 'model',
      at: history.now(),
      serial,
      message,
      messages: messages.map(({ role, content }) => ({ role, content })),
      does: does === 'text' || does === 'tools' || does === 'empty' ? does : 'fault',
      text: pieces.join('').replaceAll('\0', '').toWellFormed(),
      usage,
      asksToBook: does === 'tools' ? deed.calls.filter(({ name }) => name === 'book').length : 0,
    })
    let ended = false
    response.on('close', () => {
      const whole = response.writableFinished
      const fault = does !== 'text' && does !== 'tools' && does !== 'empty'
      const answered = fault && (whole || ended) ? 'fault' : whole ? 'whole' : 'aborted'
      history.write({ kind: 'modelEnd', at: history.now(), serial, answered })
    })
    await generate(response, { deed, pieces, usage, canary, name: read?.name ?? '', breaksOff: () => (ended = true) })
  }

  type GenerationRequest = { deed: Deed; pieces: string[]; usage: object | null; canary: string; name: string; breaksOff(): void }

  async function generate(response: ServerResponse, { deed, pieces, usage, canary, name, breaksOff }: GenerationRequest): Promise<void> {
    const reset = (): void => {
      breaksOff()
      response.socket?.resetAndDestroy()
    }
    if (deed.does === 'status') {
      const headers: Record<string, string> = deed.retryAfter === undefined ? {} : { 'retry-after': String(deed.retryAfter) }
      return json(response, deed.status, { error: { message: `scripted to answer ${deed.status}` } }, headers)
    }
    if (deed.does === 'silence') {
      await wait(deed.ms)
      return reset()
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    const event = (data: unknown): void => void response.write(`data: ${JSON.stringify(data)}\n\n`)
    const delta = (fields: object, finish: string | null = null): void =>
      event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: fields, finish_reason: finish }] })
    if (deed.does === 'text' && deed.thinks) delta({ reasoning_content: reasoningText(canary) })
    for (const piece of pieces) {
      delta({ content: piece })
      if (deed.does === 'text' && deed.everyMs > 0) await wait(deed.everyMs)
    }
    // Written data is sent before the end, so that a cut after a piece comes after it.
    if (deed.does === 'cut' || deed.does === 'garbled' || deed.does === 'error') await pass(pieces.length > 0 ? 20 : 0)
    if (deed.does === 'cut') return reset()
    if (deed.does === 'error') event({ error: { message: 'scripted to fail' } })
    else if (deed.does === 'garbled') response.write('data: {"choices":[{"delta"\n\n')
    else {
      if (deed.does === 'tools') delta({ tool_calls: deed.calls.map((call, index) => toolCall(call, index, { name, canary })) })
      delta({}, deed.does === 'tools' ? 'tool_calls' : 'stop')
      if (usage) event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [], usage })
      response.write('data: [DONE]\n\n')
    }
    response.end()
  }

  async function tool(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const name = request.url!.slice(1)
    const { about, how, secret } = JSON.parse(body) as { about: string; how: ToolManner; secret: string }
    history.write({
      kind: 'tool',
      at: history.now(),
      idempotencyKey: String(request.headers['idempotency-key']),
      name,
      arguments: body,
      sideEffects: name === 'book',
      message: about,
    })
    if (how === 'slow') await wait(700)
    if (how === 'cut') return void response.socket?.resetAndDestroy()
    json(response, how === 'fails' ? 500 : 200, { done: name, about, secret })
  }

  async function wait(ms: number): Promise<void> {
    await pass(ms, undefined, { signal: hurried.signal }).catch(() => undefined)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4096, resolve))
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    modelUrl: `http://${address}/v1`,
    toolUrl: `http://${address}`,
    webhookUrl: `http://${address}/webhook`,
    allowPrivateHosts: address,
    hurry: () => hurried.abort(),
    async close() {
      hurried.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

type About = { serial: number; name: string; canary: string; messages: Prompt['messages']; at: number }

/** The reply contains the serial number of its call, the version of the agent's prompt, and the number of earlier messages. */
function piecesOf(deed: Deed, { serial, name, canary, messages, at }: About): string[] {
  if (deed.does === 'tools') return deed.preamble ? [`[c${serial}] I look. `] : []
  if (deed.does === 'empty' || deed.does === 'status' || deed.does === 'silence') return []
  const system = messages.find(({ role }) => role === 'system')?.content ?? ''
  const [, version = '?'] = /\bversion (\d+)\b/.exec(system) ?? []
  const history = messages.slice(0, at).filter(({ role }) => role !== 'system').length
  const head = `[c${serial}] v${version} h${history} to ${name} of ${canary}. `
  const rest = Array.from({ length: Math.max(0, deed.pieces - 1) }, (_, n) => `piece ${n} of what is to be said here, `)
  const all = deed.pieces === 0 ? [] : [head, ...rest]
  if (deed.does === 'text' && deed.odd)
    all.push('a\0b', '\ud83d', '\ude00', 'lone \ud800 half', 'x\n\nevent: error\ndata: {"code":"no"}\n\n', '\u2028')
  return all
}

/** Half of each prompt is from the cache, which checks/money.ts knows. */
function usageOf(deed: Deed, messages: Prompt['messages'], pieces: number): ModelReport | null {
  if (deed.does === 'text' && deed.usage === 'none') return null
  if (deed.does === 'text' && deed.usage === 'greedy') return { prompt_tokens: 3_000_000, completion_tokens: 2_000_000 }
  const characters = messages.reduce((total, { content }) => total + (content?.length ?? 0), 0)
  const prompt = Math.max(1, Math.ceil(characters / 4))
  return { prompt_tokens: prompt, completion_tokens: Math.max(1, pieces), prompt_tokens_details: { cached_tokens: Math.floor(prompt / 2) } }
}

function toolCall({ name, manner }: ToolWanted, index: number, about: { name: string; canary: string }): object {
  const given =
    name === 'now'
      ? {}
      : name === 'search_knowledge'
        ? { query: 'harbour' }
        : { about: about.name, how: manner, secret: hiddenWords(about.canary).tool }
  return { index, id: `call-${index}`, type: 'function', function: { name, arguments: JSON.stringify(given) } }
}

/** The same text has the same vector; meaning does not matter here. */
function embeddings({ input }: { input: string[] }): object {
  const vector = (text: string): number[] => Array.from({ length: 8 }, (_, n) => 1 + [...text].filter((_c, at) => at % 8 === n).length)
  return { data: input.map((text, index) => ({ index, embedding: vector(text) })), usage: { prompt_tokens: 1, total_tokens: 1 } }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
