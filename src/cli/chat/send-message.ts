/**
 * Sends one message to the playground and retries it with the same Idempotency-Key after a lost connection, a 503 or a busy conversation,
 * as Retry-After says. So the message is answered and charged once (`idempotency.replay`, `conversation.busy`).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { EventReader } from '../../../packages/client/src/event-reader.ts'
import { headerOfKey } from '../../../packages/client/src/options.ts'
import { Reconciler } from '../../../packages/client/src/reconcile.ts'
import type { ChatStreamEvent } from '../../../packages/client/src/reconcile.ts'
import { isSentAgain, readRetryAfter, waitMs } from '../../../packages/client/src/retries.ts'
import type { codesSentAgain } from '../../../packages/client/src/retries.ts'
import { readEvent } from '../../../packages/client/src/wire.ts'
import { isFields, parseFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { agentPath } from '../admin-api/paths.ts'
import { causeOf } from '../terminal/command-failed.ts'

export type Message = { agentId: string; externalUserId: string; text: string; idempotencyKey: string }
/** Receives the progress of a message. */
export type Listener = {
  created(requestId: string): void
  piece(text: string): void
  /** The text shown so far is invalid; the whole text follows. */
  reset(): void
  /** Called before each retry, with its reason and the delay in seconds. */
  waits(why: string, seconds: number): void
}

export type Refused = { code: string; message: string; requestId: string | undefined }
export type Sent =
  /** `completed` is the payload of response.completed. */
  | { kind: 'completed'; completed: Fields }
  | ({ kind: 'refused' } & Refused)
  /** No response came from a Turnkeep server. */
  | { kind: 'unreachable'; why: string }
  /** Canceled by the signal. */
  | { kind: 'stopped' }

/** The reason to show for each error code that a retry with the same key can resolve. */
const reasons: Record<keyof typeof codesSentAgain, string> = {
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

type Attempt = Exclude<Sent, { kind: 'unreachable' }> | { kind: 'again'; why: string; afterSeconds: number | undefined; last: Sent }

/** Throws for a key that a header cannot carry (`idempotency.key-text`). */
export async function sendMessage(client: AdminClient, message: Message, listener: Listener, signal: AbortSignal): Promise<Sent> {
  const key = headerOfKey(message.idempotencyKey)
  const until = performance.now() + maxTotalMs
  const reconciler = new Reconciler()
  for (let tries = 0; ; tries++) {
    reconciler.begin()
    const attempt = await attemptOnce(client, { ...message, key }, reconciler, listener, signal)
    if (signal.aborted && attempt.kind !== 'completed') return { kind: 'stopped' }
    if (attempt.kind !== 'again') return attempt
    // Without jitter: one person retries, not many programs.
    const seconds = waitMs(attempt.afterSeconds, tries, 0) / 1000
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
  message: Message & { key: string },
  reconciler: Reconciler,
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
      headers: { 'idempotency-key': message.key },
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      return await readRefusal(response, client.url)
    const events = new EventReader()
    for await (const bytes of response.body) {
      heard()
      for (const { name, data } of events.push(bytes)) {
        const fields = parseFields(data)
        const event = readEvent(name, fields)
        if (!fields || !event) return again(`not a Turnkeep server: ${client.url} sent an invalid event`)
        if (event === 'ignored') continue
        if (event.type === 'error') return judge(fields, undefined)
        for (const shown of reconciler.take(event)) show(shown, listener)
        if (event.type === 'response.completed') return { kind: 'completed', completed: fields }
      }
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

function show(event: ChatStreamEvent, listener: Listener): void {
  if (event.type === 'response.created') listener.created(event.requestId)
  if (event.type === 'response.output_text.delta') listener.piece(event.delta)
  if (event.type === 'response.output_text.reset') listener.reset()
}

async function readRefusal(response: Response, url: string): Promise<Attempt> {
  const error = parseFields(await response.text())?.['error']
  if (isFields(error) && typeof error['code'] === 'string')
    return judge(error, readRetryAfter(response.headers.get('retry-after'), Date.now()))
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
  if (!isSentAgain(refused.code)) return refused
  return { kind: 'again', why: reasons[refused.code], afterSeconds, last: refused }
}

const again = (why: string): Attempt => ({ kind: 'again', why, afterSeconds: undefined, last: { kind: 'unreachable', why } })

export function contentOf({ message }: Fields): string {
  return isFields(message) ? String(message['content']) : ''
}
