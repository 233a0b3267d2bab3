/**
 * Sends one message to the playground and retries it with the same Idempotency-Key after a lost connection, a 503 or a busy conversation,
 * as Retry-After says. So the message is answered and charged once (`idempotency.replay`, `conversation.busy`).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isFields, parseFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { causeOf } from '../terminal/command-failed.ts'
import { readEvents } from './event-reader.ts'
import { GrowingText } from './growing-text.ts'
import type { TextSink } from './growing-text.ts'

export type Message = { agentId: string; externalUserId: string; text: string; idempotencyKey: string }
/** Receives the progress of a message. `waits` is called before each retry, with its reason and the delay in seconds. */
export type Listener = TextSink & { created(requestId: string): void; waits(why: string, seconds: number): void }

export type Refused = { code: string; message: string; requestId: string | undefined }
export type Sent =
  /** `completed` is the payload of response.completed. */
  | { kind: 'completed'; completed: Fields }
  | ({ kind: 'refused' } & Refused)
  /** No response came from a Turnkeep server. */
  | { kind: 'unreachable'; why: string }
  /** Canceled by the signal. */
  | { kind: 'stopped' }

/** The error codes that a retry with the same key can resolve, with the reason to show. */
const passing: Record<string, string> = {
  conversation_busy: 'another message of this conversation is being answered',
  idempotency_in_progress: 'the reply is still being generated',
  service_unavailable: 'the service is unavailable',
  api_rate_limit_unavailable: 'the rate limit cannot be checked',
  rate_limit_exceeded: 'the rate limit is exceeded',
}
// A turn takes at most 110 s, so this includes a restart of the server, its recovery and a second attempt.
const maxTotalMs = 300_000
// The server sends a comment every 15 s. After three missed comments, the connection is considered lost.
const silentMs = 45_000
// Seconds between attempts.
const [minDelay, maxDelay] = [0.5, 8]

type Attempt = Exclude<Sent, { kind: 'unreachable' }> | { kind: 'again'; why: string; afterSeconds: number | undefined; last: Sent }

export async function sendMessage(client: AdminClient, message: Message, listener: Listener, signal: AbortSignal): Promise<Sent> {
  const until = performance.now() + maxTotalMs
  const text = new GrowingText(listener)
  for (let tries = 0; ; tries++) {
    text.beginAttempt()
    const attempt = await attemptOnce(client, message, text, listener, signal)
    if (signal.aborted && attempt.kind !== 'completed') return { kind: 'stopped' }
    if (attempt.kind !== 'again') return attempt
    const seconds = attempt.afterSeconds ?? Math.min(maxDelay, minDelay * 2 ** tries)
    if (performance.now() + seconds * 1000 > until) return attempt.last
    listener.waits(attempt.why, seconds)
    try {
      await sleep(seconds * 1000, undefined, { signal })
    } catch {
      return { kind: 'stopped' }
    }
  }
}

async function attemptOnce(
  client: AdminClient,
  message: Message,
  text: GrowingText,
  listener: Listener,
  signal: AbortSignal,
): Promise<Attempt> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), silentMs)
  const heard = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(), silentMs)
  }
  try {
    const response = await client.open('POST', `${agentPath(message.agentId)}/playground`, {
      body: { message: message.text, external_user_id: message.externalUserId },
      headers: { 'idempotency-key': message.idempotencyKey },
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      return await readRefusal(response, client.url)
    for await (const { event, data } of readEvents(response.body, heard)) {
      if (event === 'response.created') listener.created(String(data['request_id']))
      if (event === 'response.output_text.delta') text.add(String(data['delta']))
      if (event === 'error') return judge(data, undefined)
      if (event !== 'response.completed') continue
      text.complete(contentOf(data))
      return { kind: 'completed', completed: data }
    }
    return again('the connection was lost during the reply')
  } catch (error) {
    return again(
      silence.signal.aborted ? `no data from ${client.url} for ${silentMs / 1000} s` : `cannot reach ${client.url}: ${causeOf(error)}`,
    )
  } finally {
    clearTimeout(timer)
  }
}

async function readRefusal(response: Response, url: string): Promise<Attempt> {
  const error = parseFields(await response.text())?.['error']
  const wait = Number(response.headers.get('retry-after') ?? NaN)
  if (isFields(error) && typeof error['code'] === 'string') return judge(error, Number.isFinite(wait) ? wait : undefined)
  const why = `not a Turnkeep server: ${url} answered ${response.status}`
  // A proxy in front of the server answered.
  if (response.status >= 500 || response.status === 429) return again(why)
  return { kind: 'refused', code: String(response.status), message: why, requestId: undefined }
}

function judge({ code, message, request_id: requestId }: Fields, afterSeconds: number | undefined): Attempt {
  const refused = {
    kind: 'refused',
    code: String(code),
    message: String(message),
    requestId: requestId === undefined ? undefined : String(requestId),
  } as const
  const why = passing[refused.code]
  return why === undefined ? refused : { kind: 'again', why, afterSeconds, last: refused }
}

const again = (why: string): Attempt => ({ kind: 'again', why, afterSeconds: undefined, last: { kind: 'unreachable', why } })

export function contentOf({ message }: Fields): string {
  return isFields(message) ? String(message['content']) : ''
}
