/**
 * Follows a turn through the admin API: passes on its text as it arrives, and continues after a lost connection with the ID of the last event,
 * so that no text is passed on twice (`stream.resume`). The turn does not depend on it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { EventReader } from '../../../packages/client/src/event-reader.ts'
import { isSentAgain, readRetryAfter, waitMs } from '../../../packages/client/src/retries.ts'
import { isFields, parseFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { escapeForTerminal } from '../terminal/table.ts'

export type FollowListener = {
  piece(text: string): void
  /** The text shown so far is invalid; the text from the start follows. */
  reset(): void
  /** Called before each new connection, with its reason and the delay in seconds. */
  waits(why: string, seconds: number): void
}

// The server sends a comment every 15 s. After three missed comments, the connection is considered lost.
const silentMs = 45_000
// Enough for a restart of the server and the recovery of the turn.
const maxDownMs = 300_000

export const turnPath = (requestId: string): string => `/turns/${encodeURIComponent(requestId)}`

type Again = { kind: 'again'; why: string; afterSeconds?: number | undefined }
type Attempt = { kind: 'ended' } | Again

/**
 * Returns the turn when it has ended, or undefined after an abort. Throws CommandFailed: 1 if the API refuses, 2 if the server cannot be
 * reached for five minutes.
 */
export async function followTurn(
  client: AdminClient,
  requestId: string,
  listener: FollowListener,
  signal: AbortSignal,
): Promise<Fields | undefined> {
  let lastEventId: string | undefined
  let tries = 0
  let lastData = performance.now()
  for (;;) {
    const attempt = await readOnce()
    if (signal.aborted) return undefined
    const turn = attempt.kind === 'ended' ? await client.call('GET', turnPath(requestId), { signal }).catch(passAbort) : undefined
    if (turn && turn['status'] !== 'running') return turn
    if (signal.aborted) return undefined
    const { why, afterSeconds } = attempt.kind === 'again' ? attempt : { why: 'the server is stopping', afterSeconds: undefined }
    // Without jitter: one person follows, not many programs.
    const seconds = waitMs(afterSeconds, tries++, 0) / 1000
    if (performance.now() + seconds * 1000 > lastData + maxDownMs) throw new CommandFailed(2, `${why}. The turn does not depend on it.`)
    listener.waits(why, seconds)
    try {
      await sleep(seconds * 1000, undefined, { signal })
    } catch {
      return undefined
    }
  }

  /** The server may be restarting, or the command was stopped. */
  function passAbort(error: unknown): undefined {
    if (!(error instanceof CommandFailed)) throw error
    return undefined
  }

  async function readOnce(): Promise<Attempt> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), silentMs)
    try {
      const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const response = await client.open('GET', `${turnPath(requestId)}/stream`, {
        headers,
        signal: AbortSignal.any([signal, silence.signal]),
      })
      // The event was the last one.
      if (response.status === 204) return { kind: 'ended' }
      if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
        return await readRefusal(response, client.url)
      const events = new EventReader()
      for await (const bytes of response.body) {
        lastData = performance.now()
        tries = 0
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), silentMs)
        for (const { name, data, id } of events.push(bytes)) {
          const fields = parseFields(data)
          if (!fields) return again(`not a Turnkeep server: ${client.url} sent an invalid event`)
          if (name === 'response.output_text.delta') listener.piece(String(fields['delta']))
          if (name === 'response.output_text.reset') listener.reset()
          if (id !== undefined) lastEventId = id
          if (name === 'response.completed' || name === 'error') return { kind: 'ended' }
        }
      }
      return again('the connection was lost')
    } catch (error) {
      if (error instanceof CommandFailed) throw error
      return again(
        silence.signal.aborted ? `no data from ${client.url} for ${silentMs / 1000} s` : `cannot reach ${client.url}: ${causeOf(error)}`,
      )
    } finally {
      clearTimeout(timer)
    }
  }
}

const again = (why: string): Again => ({ kind: 'again', why })

async function readRefusal(response: Response, url: string): Promise<Attempt> {
  const error = parseFields(await response.text())?.['error']
  if (!isFields(error) || typeof error['code'] !== 'string') return again(`not a Turnkeep server: ${url} answered ${response.status}`)
  const message = `${String(error['message'])} (${error['code']}, ${response.status}, request ${String(error['request_id'])})`
  if (!isSentAgain(error['code'])) throw new CommandFailed(1, escapeForTerminal(message))
  return { ...again(escapeForTerminal(message)), afterSeconds: readRetryAfter(response.headers.get('retry-after'), Date.now()) }
}

/** Why the text of a reply ends before its end. `finish`: the finish reason of the turn. */
export function whyCutOff(finish: unknown): string {
  if (finish === 'length') return 'cut off at the token limit'
  return finish === 'filtered' ? 'cut off by a content filter' : 'cancelled after this text'
}

/** How a turn ended, in one sentence. `turn` is one that has ended. */
export function endOfTurn({ status, incomplete, finish_reason: finish, failure, usage }: Fields): string {
  const charged = isFields(usage) ? `${String(usage['charged_usd'])} USD charged.` : 'Nothing was charged.'
  const { code, cause } = isFields(failure) ? failure : {}
  switch (status) {
    case 'completed':
      return `Completed${incomplete === true ? `, incomplete: ${whyCutOff(finish)}` : finish === 'refused' ? ': the model refused' : ''}. ${charged}`
    case 'cancelled':
      return `Cancelled before any text. ${charged}`
    case 'released':
      return `Released (${escapeForTerminal(String(code))}): ${escapeForTerminal(String(cause ?? 'no cause recorded'))}. ${charged} If the caller retries, the turn runs again.`
    default:
      return `Failed (${escapeForTerminal(String(code))}): ${escapeForTerminal(String(cause ?? 'no cause recorded'))}. ${charged}`
  }
}
