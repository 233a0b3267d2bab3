/**
 * Downloads a document from its URL through the guard: public addresses only, few redirects, bounded size and time. Temporary failures are
 * retried; a final failure becomes a reason for the operator. Only the content and the content type of the answer are used.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { GuardFailed, GuardRefused } from '../guard/guard.ts'
import type { Guard, GuardedAnswer } from '../guard/guard.ts'
import { DocumentRefused, inMebibytes, maxFileBytes } from './limits.ts'

// From `http` to `https`, to or from `www`, and one for a page that moved.
const maxRedirects = 3
// Milliseconds: a file of 20 MiB over a line of 6 Mbit/s.
const maxFetchMs = 30_000
const timesAgain = new Set([408, 425, 429, 500, 502, 503, 504])
const wanted =
  'text/html, application/xhtml+xml, text/markdown, text/plain, application/pdf, application/vnd.openxmlformats-officedocument.wordprocessingml.document, */*;q=0.1'

export type Fetching = { guard: Pick<Guard, 'fetch'>; signal: AbortSignal; retriesMs: number[] }
export type Fetched = { bytes: Uint8Array<ArrayBuffer>; mediaType: string | null }

/** Throws DocumentRefused or `signal.reason`. */
export async function fetchDocument(url: string, { guard, signal, retriesMs }: Fetching): Promise<Fetched> {
  for (let attempt = 0; ; attempt++) {
    const outcome = await fetchOnce(url, guard, signal)
    if ('body' in outcome) return { bytes: new Uint8Array(outcome.body), mediaType: outcome.headers.get('content-type') ?? null }
    const pause = outcome.mayPass ? retriesMs[attempt] : undefined
    if (pause === undefined) throw new DocumentRefused(outcome.reason)
    // An aborted timer rejects with an error of its own, but callers expect the signal's reason.
    await wait(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

type Failure = { reason: string; mayPass: boolean }

async function fetchOnce(url: string, guard: Pick<Guard, 'fetch'>, signal: AbortSignal): Promise<GuardedAnswer | Failure> {
  try {
    const answer = await guard.fetch(url, {
      method: 'GET',
      headers: { accept: wanted },
      signal,
      timeoutMs: maxFetchMs,
      maxBytes: maxFileBytes,
      redirects: maxRedirects,
    })
    const { status } = answer
    if (status !== 200) return { reason: `The URL returned status ${status}.`, mayPass: timesAgain.has(status) }
    if (answer.truncated) return { reason: `The document at this URL is larger than ${inMebibytes(maxFileBytes)}.`, mayPass: false }
    return answer
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof GuardRefused) return { reason: `This URL is not allowed: ${error.forOperator}.`, mayPass: false }
    if (error instanceof GuardFailed) return { reason: `The URL could not be fetched: ${error.message}.`, mayPass: true }
    throw error
  }
}
