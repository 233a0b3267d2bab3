/** What a caller sets, checked before anything is sent. Messages name the option and never its value: it may be the API key. */
import { TurnkeepError } from './errors.ts'

export type TurnkeepOptions = {
  /** Where the service is; may have a path. */
  baseURL: string
  agentId: string
  apiKey: string
  /** Milliseconds of one attempt, above 0; 120,000. */
  timeout?: number | undefined
  /** How many failed attempts are followed by another; 10. Waits for a turn that runs do not count. */
  maxRetries?: number | undefined
  /** Milliseconds of a whole call, with all its attempts and waits, above 0; 300,000. */
  maxWait?: number | undefined
  /** Instead of the runtime's own. */
  fetch?: typeof globalThis.fetch | undefined
}

/** For one call; what is left out is as the client was made. */
export type RequestOptions = {
  signal?: AbortSignal | undefined
  timeout?: number | undefined
  maxRetries?: number | undefined
  maxWait?: number | undefined
}

export type ChatOptions = RequestOptions & {
  /** Names this message; by default a random UUID. Not empty, no blank at either end. The same key with the same message brings the same reply, for 24 hours. */
  idempotencyKey?: string | undefined
}

export type Limits = { timeout: number; maxRetries: number; maxWait: number }

export function readLimits(options: RequestOptions, defaults: Limits): Limits {
  const read = (name: keyof Limits, wanted: string, allows: (value: number) => boolean): number => {
    const value = options[name] ?? defaults[name]
    if (typeof value === 'number' && allows(value)) return value
    throw new TurnkeepError(`${name} must be a number ${wanted}.`)
  }
  // Elsewhere a timeout of 0 may mean none; here Infinity does.
  const readTime = (name: 'timeout' | 'maxWait'): number => read(name, 'above 0', (value) => value > 0)
  return { timeout: readTime('timeout'), maxRetries: read('maxRetries', 'from 0 on', (value) => value >= 0), maxWait: readTime('maxWait') }
}

/** Without a slash at its end. */
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

/** White space around it, such as the end of the line of a file, is taken off. */
export function readApiKey(apiKey: unknown): string {
  const trimmed = typeof apiKey === 'string' ? apiKey.trim() : ''
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new TurnkeepError('apiKey is missing, or is no text that a header can carry.')
  return trimmed
}

/** As one segment of a path. Dots alone would lead out of it. */
export function pathSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || /^\.{0,2}$|\p{Cs}/u.test(value)) throw new TurnkeepError(`${name} is missing or no id.`)
  return encodeURIComponent(value)
}

/**
 * `idempotency.key-text`: what a header can carry, as UTF-8 bytes, one in each character. Half a surrogate pair would be sent as another
 * character, and a blank at either end would be cut off: two keys would become one.
 */
export function headerOfKey(key: string): string {
  if (typeof key !== 'string' || /^$|^ | $|[\p{Cc}\p{Cs}]/u.test(key))
    throw new TurnkeepError(
      'idempotencyKey must not be empty, begin or end with a blank, or have control characters or unpaired surrogates.',
    )
  return Array.from(new TextEncoder().encode(key), (byte) => String.fromCharCode(byte)).join('')
}
