/**
 * Verifies what a Turnkeep service sends to a webhook: the signatures of Standard Webhooks, with WebCrypto and in constant time. Needs no
 * client and no API key.
 */
import { TurnkeepError } from './errors.ts'

/** The request did not come from the service, or was changed or sent again later. Answer it with 400. */
export class WebhookVerificationError extends TurnkeepError {
  override get name(): string {
    return 'WebhookVerificationError'
  }
}

export type WebhookEvent = {
  /** The `webhook-id`: the same for every attempt to deliver this event. Handle each ID once. */
  id: string
  /** Such as turn.completed. */
  type: string
  /** When it occurred: UTC, ISO 8601. */
  timestamp: string
  data: Record<string, unknown>
}

/** Those of a `Request`, or of Node's `IncomingMessage`. */
export type WebhookHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>

export type VerifyOptions = {
  /** How old, and how far ahead of this machine's clock, a request may be. Default: 300 seconds. */
  toleranceSeconds?: number
}

const maxSignatures = 20
const prefix = 'whsec_'

/**
 * Returns the event if one of its signatures is of one of the secrets. `body` is the body as it was received, before any parsing. Throws
 * WebhookVerificationError, and TurnkeepError for a secret that is not one.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300 }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const keys = [secrets].flat().map(readSecret)
  if (keys.length === 0) throw new TurnkeepError('A webhook is verified with at least one secret.')
  const id = readHeader(headers, 'webhook-id')
  const timestamp = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature').split(' ')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('The header webhook-timestamp is not a time.')
  const ageSeconds = Date.now() / 1000 - Number(timestamp)
  if (Math.abs(ageSeconds) > toleranceSeconds)
    throw new WebhookVerificationError(
      ageSeconds > 0
        ? 'The webhook is too old: it may have been sent again by someone else.'
        : 'The webhook is from the future: compare the clocks.',
    )
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  if (!(await isSigned(signed, signatures.slice(0, maxSignatures), keys)))
    throw new WebhookVerificationError('No signature of the webhook is of this secret.')
  return readEvent(id, new TextDecoder().decode(bytes))
}

async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string[], keys: Uint8Array<ArrayBuffer>[]): Promise<boolean> {
  const { subtle } = await webCrypto()
  let found = false
  for (const key of keys) {
    const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    for (const signature of signatures) {
      const bytes = signature.startsWith('v1,') ? decode(signature.slice('v1,'.length)) : undefined
      // All are compared, whichever fits.
      if (bytes && (await subtle.verify('HMAC', imported, bytes, signed))) found = true
    }
  }
  return found
}

type WebCrypto = typeof globalThis.crypto

async function webCrypto(): Promise<WebCrypto> {
  if (globalThis.crypto?.subtle) return globalThis.crypto
  // Node 18 has it in a module only, which bundlers for other runtimes must not look for.
  const module = 'node:crypto'
  const { webcrypto } = (await import(module)) as { webcrypto: WebCrypto }
  return webcrypto
}

function readSecret(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith(prefix) ? decode(secret.slice(prefix.length)) : undefined
  if (!key || key.length === 0) throw new TurnkeepError('The secret of a webhook starts with whsec_, followed by base64.')
  return key
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = typeof headers['get'] === 'function' ? (headers as { get(name: string): string | null }).get(name) : valueOf(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`The header ${name} is missing.`)
  return value
}

/** Node writes the names of headers in lower case; other frameworks may not. */
function valueOf(headers: object, name: string): unknown {
  const [, value] = Object.entries(headers).find(([known]) => known.toLowerCase() === name) ?? []
  return Array.isArray(value) ? value[0] : value
}

/** Undefined if the text is not base64. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch (error) {
    if (error instanceof Error) return undefined
    throw error
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

function readEvent(id: string, body: string): WebhookEvent {
  // Signed by the service, which sends nothing else.
  const { type, timestamp, data } = JSON.parse(body) as Omit<WebhookEvent, 'id'>
  return { id, type, timestamp, data }
}
