/**
 * Sends one HTTP request in all the ways of callers: patient, disconnecting, half-closing or reading slowly. Returns what arrived and how
 * it ended. Never repeats, and never throws because of a server or a network.
 */
import { request as open } from 'node:http'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { setTimeout as pass } from 'node:timers/promises'
import { hold, holdEvents, isHeld } from '../../support/answer-check-run.ts'
import type { AnswerEvent, CallEvent } from '../history.ts'

export type Outgoing = Pick<CallEvent, 'leaves' | 'reads' | 'halfCloses'> & {
  url: string
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers: Record<string, string>
  body?: string
  /** `slowly`: in a few pieces with pauses; `unfinished`: all but the last byte. */
  sends?: 'slowly' | 'unfinished'
  /** Undefined: a new connection. */
  connections: Agent | undefined
  patienceMs: number
  now: () => number
  /** Called with the number of complete events so far, and the response, each time that part of a stream arrives. */
  onEvents?: ((count: number, head: IncomingMessage) => void) | undefined
}

export type Came = Omit<AnswerEvent, 'kind' | 'call'>

// Long enough for a server to be in the middle of it.
const leavesAfterMs = 15
// For a stream of some hundred events this takes seconds, in which unread data accumulates.
const slowlyMs = 120
// A body that is sent slowly takes a second and a half.
const [bodyPieces, betweenPiecesMs] = [4, 500]

export function send({
  url,
  method = 'POST',
  headers,
  body,
  sends,
  connections,
  patienceMs,
  leaves,
  reads,
  halfCloses,
  now,
  onEvents,
}: Outgoing): Promise<Came> {
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined
    let headAt: number | null = null
    let text = ''
    let reported = false
    const request = open(url, { method, headers, agent: connections ?? false })
    const patience = setTimeout(leave, patienceMs)

    function tell(end: Came['end'], error?: string): void {
      if (reported) return
      reported = true
      clearTimeout(patience)
      const isStream = response?.headers['content-type']?.startsWith('text/event-stream') ?? false
      const events = isStream ? readEvents(text) : null
      try {
        if (end === 'whole') holdCame(method, url, response!, events ?? text)
      } catch (wrong) {
        return reject(wrong)
      }
      resolve({
        at: now(),
        headAt,
        status: response?.statusCode ?? null,
        headers: Object.fromEntries(Object.entries(response?.headers ?? {}).map(([name, value]) => [name, String(value)])),
        body: response && !isStream ? text : null,
        events,
        end,
        ...(error === undefined ? {} : { error }),
      })
    }

    function leave(): void {
      tell('left')
      request.destroy()
    }

    const fails = (error: NodeJS.ErrnoException): void => tell(response ? 'cut' : 'broken', error.code ?? error.message)

    request.on('error', fails)
    request.on('response', (came) => {
      response = came
      headAt = now()
      onEvents?.(0, came)
      if (leaves === 'headers') return leave()
      came.setEncoding('utf8')
      came.on('data', (piece: string) => {
        text += piece
        onEvents?.(readEvents(text).length, came)
        if (typeof leaves === 'number' && readEvents(text).length >= leaves) return leave()
        if (reads !== 'slowly' || reported) return
        came.pause()
        setTimeout(() => came.resume(), slowlyMs)
      })
      came.on('end', () => tell('whole'))
      came.on('error', fails)
      came.on('close', () => tell('cut'))
    })
    // As bytes, because Node would encode the headers like the text behind them.
    const bytes = body === undefined ? undefined : Buffer.from(body)
    if (bytes && sends) return void sendPart(request, bytes, sends)
    request.end(bytes, () => {
      if (leaves === 'waiting') setTimeout(leave, leavesAfterMs)
      if (halfCloses) request.socket?.end()
    })
  })
}

async function sendPart(request: ClientRequest, bytes: Buffer, sends: 'slowly' | 'unfinished'): Promise<void> {
  request.setHeader('content-length', bytes.length)
  if (sends === 'unfinished') return void request.write(bytes.subarray(0, -1))
  const length = Math.ceil(bytes.length / bodyPieces)
  for (let from = 0; from < bytes.length && !request.destroyed; from += length) {
    request.write(bytes.subarray(from, from + length))
    await pass(betweenPiecesMs)
  }
  request.end()
}

/** The checks of test/run.ts, if it runs the callers. */
function holdCame(method: string, address: string | URL, came: IncomingMessage, said: string | { event: string; data: string }[]): void {
  const url = new URL(address)
  const headers = new Headers(Object.entries(came.headers).map(([name, value]): [string, string] => [name, String(value)]))
  if (!isHeld(url, headers)) return
  const text = typeof said === 'string' ? said : undefined
  hold({ method, path: url.pathname, status: came.statusCode!, headers, text })
  // A stream that continues another one has no start of its own.
  if (typeof said !== 'string' && !url.pathname.includes('/turns/'))
    holdEvents(said.map(({ event, data }) => ({ event, data: JSON.parse(data) })))
}

/** Complete events, without comments. */
function readEvents(text: string): NonNullable<Came['events']> {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const lines = block.split('\n').filter((line) => !line.startsWith(':'))
      const field = (name: string): string =>
        lines
          .filter((line) => line.startsWith(`${name}: `))
          .map((line) => line.slice(name.length + 2))
          .join('\n')
      return lines.length === 0 ? [] : [{ event: field('event'), id: field('id'), data: field('data') }]
    })
}
