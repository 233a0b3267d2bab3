/**
 * Turns a status other than 200 from a model server into a ModelError: `unavailable`, `refused` or `too_long`, with the Retry-After.
 * Includes the start of the body for the operator, without the API key. The kind of the error decides how the turn ends (`turn.states`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { kindOfStatus } from '../../../cause-kinds.ts'
import type { CauseKind } from '../../../cause-kinds.ts'
import { ModelError } from '../model.ts'
import { refusesByFilter } from './filtered.ts'
import { reportsNoModel } from './model-not-found.ts'
import { operatorText } from './operator-text.ts'
import { refusesLength } from './too-long.ts'

// Enough for the error object of any provider.
const bodyBytes = 4096
// One day. A longer wait is useless to every caller, and would overflow a timer.
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

  /**
   * `turn.states`: a 4xx except 408 and 429 means that the provider rejects the request itself. So does a redirect, because then the
   * operator has set a wrong address.
   */
  error(): ModelError {
    const refused = this.#status >= 300 && this.#status < 500 && this.#status !== 408 && this.#status !== 429
    const body = Buffer.concat(this.#pieces).toString('utf8', 0, bodyBytes)
    const text = operatorText(body, this.#secret)
    const kind = refusesLength(this.#status, body) ? 'too_long' : refused ? 'refused' : 'unavailable'
    const causeKind = kind === 'too_long' ? 'prompt_too_long' : this.#causeKind(body)
    return new ModelError(kind, causeKind, `the model server returned status ${this.#status}`, {
      said: text,
      retryAfterMs: retryAfterMs(this.#headers),
    })
  }

  #causeKind(body: string): CauseKind {
    if (refusesByFilter(this.#status, body)) return 'filtered'
    return reportsNoModel(this.#status, body) ? 'model_not_found' : kindOfStatus(this.#status)
  }
}

/**
 * Returns `Retry-After` in milliseconds, given as seconds or as an HTTP date. A date is compared with the server's own `Date` header, so
 * that the local clock does not matter.
 */
function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const value = headers['retry-after']?.trim() ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.parse(headers.date ?? '')
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs)
}
