/** The options of a caller, checked before anything is sent. Messages name the option and never its value, which may be the API key. */
import { TurnkeepError } from './errors.ts'

export type TurnkeepOptions = {
  /** The URL of the service. May have a path. */
  baseURL: string
  agentId: string
  apiKey: string
  /** The timeout of one attempt in milliseconds, above 0; default 120,000. */
  timeout?: number | undefined
  /** How many failed attempts are repeated; default 10. Waits for a running turn do not count. */
  maxRetries?: number | undefined
  /** The timeout of a whole call in milliseconds, with all its attempts and waits, above 0; default 300,000. */
  maxWait?: number | undefined
  /** Used instead of the runtime's fetch. */
  fetch?: typeof globalThis.fetch | undefined
}

/** For one call. Missing options have the values of the client. */
export type RequestOptions = {
  signal?: AbortSignal | undefined
  timeout?: number | undefined
  maxRetries?: number | undefined
  maxWait?: number | undefined
}

export type ChatOptions = RequestOptions & {
  /**
   * Identifies this message; a random UUID by default. Not empty, without white space at either end. The same key with the same message
   * returns the same reply for 24 hours.
   */
  idempotencyKey?: string | undefined
}

/** The options of `chat`. */
export type BackgroundOption = {
  /** True: returns as soon as the turn has started, not when the reply is complete. */
  background?: boolean | undefined
}

export type TurnStreamOptions = RequestOptions & {
  /** The `id` of an event: the stream continues after it. Undefined: from the beginning, with all the text so far in one delta. */
  after?: string | undefined
}

export type Limits = { timeout: number; maxRetries: number; maxWait: number }

export function readLimits(options: RequestOptions, defaults: Limits): Limits {
  const read = (name: keyof Limits, wanted: string, allows: (value: number) => boolean): number => {
    const value = options[name] ?? defaults[name]
    if (typeof value === 'number' && allows(value)) return value
    throw new TurnkeepError(`${name} must be a number ${wanted}.`)
  }
  // Elsewhere a timeout of 0 may mean no timeout. Here, that is Infinity.
  const readTime = (name: 'timeout' | 'maxWait'): number => read(name, 'above 0', (value) => value > 0)
  return { timeout: readTime('timeout'), maxRetries: read('maxRetries', 'from 0 on', (value) => value >= 0), maxWait: readTime('maxWait') }
}

/** Without a slash at the end. */
export function readBaseUrl(text: string): string {
  const url = parseUrl(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new TurnkeepError('baseURL must be an http or https address.')
  if (url.username || url.password || url.search || url.hash)
    throw new TurnkeepError('baseURL must not have a user, a query or a fragment.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** White space around it is removed, such as the line break at the end of a file. */
export function readApiKey(apiKey: unknown): string {
  const trimmed = typeof apiKey === 'string' ? apiKey.trim() : ''
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new TurnkeepError('apiKey is missing, or is no text that a header can carry.')
  return trimmed
}

/** Encodes a path segment. A segment of dots alone would lead out of the path. */
export function pathSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || /^\.{0,2}$|\p{Cs}/u.test(value)) throw new TurnkeepError(`${name} is missing or no id.`)
  return encodeURIComponent(value)
}

/** The ID of an event as a header can carry it. Undefined if it is missing. */
export function readEventId(after: unknown): string | undefined {
  if (after === undefined || isEventId(after)) return after
  throw new TurnkeepError('after must be the id of an event.')
}

/** Visible ASCII. The ID of an event with other characters is not used to continue a stream. */
export const isEventId = (id: unknown): id is string => typeof id === 'string' && /^[\x21-\x7e]+$/.test(id)

/**
 * `idempotency.key-text`: the text of a header as UTF-8 bytes, one per character. A lone surrogate would be sent as another character, and
 * white space at either end would be removed, so that two keys could become one.
 */
export function headerOfKey(key: string): string {
  if (typeof key !== 'string' || /^$|^ | $|[\p{Cc}\p{Cs}]/u.test(key))
    throw new TurnkeepError(
      'idempotencyKey must not be empty, begin or end with a blank, or have control characters or unpaired surrogates.',
    )
  return Array.from(new TextEncoder().encode(key), (byte) => String.fromCharCode(byte)).join('')
}
