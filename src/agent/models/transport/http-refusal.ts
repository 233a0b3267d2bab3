/**
 * What a status other than 200 of a model's server means: `unavailable`, `refused` or `too_long`, and when to come back. Keeps a little of its
 * body for the operator's log and never the API key. Rulings `turn.states`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ModelError } from '../model.ts'
import { operatorText } from './operator-text.ts'
import { refusesLength } from './too-long.ts'

// Enough for any provider's error object; more would only fill memory and logs.
const bodyBytes = 4096
// What asks for longer than a day is no use to anybody who waits, and would overflow a timer.
const maxRetryAfterMs = 86_400_000

export class HttpRefusal {
  readonly #status: number
  readonly #headers: IncomingHttpHeaders
  readonly #secret: string
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(status: number, headers: IncomingHttpHeaders, secret: string) {
    this.#status = status
    this.#headers = headers
    this.#secret = secret
  }

  take(bytes: Buffer): 'more' | 'enough' {
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    return this.#bytes < bodyBytes ? 'more' : 'enough'
  }

  /** `turn.states`: 4xx but 408 and 429 refuse the request itself, and so does a redirect: the operator gave a wrong address. */
  error(): ModelError {
    const refused = this.#status >= 300 && this.#status < 500 && this.#status !== 408 && this.#status !== 429
    const body = Buffer.concat(this.#pieces).toString('utf8', 0, bodyBytes)
    const text = operatorText(body, this.#secret)
    const kind = refusesLength(this.#status, body) ? 'too_long' : refused ? 'refused' : 'unavailable'
    return new ModelError(kind, `the model server returned status ${this.#status}`, {
      said: text,
      retryAfterMs: retryAfterMs(this.#headers),
    })
  }
}

/** Reads `Retry-After` as seconds or as an HTTP date; a date is compared with the server's own `Date`, so that no clock of ours can be wrong. */
function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const value = headers['retry-after']?.trim() ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.date ?? '')
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs)
}
