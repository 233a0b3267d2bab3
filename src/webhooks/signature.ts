/**
 * Secrets and signatures as Standard Webhooks defines them (`webhook.signed`): `whsec_` and base64, and `v1,` with an HMAC-SHA256 of ID,
 * timestamp and body. Does not store or log a secret.
 */
import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
// Standard Webhooks asks for 24 to 64.
const secretBytes = 32

export const newSecret = (): string => `${prefix}${randomBytes(secretBytes).toString('base64')}`

/** What is signed: the ID has no full stop, so the three parts cannot be confused. `timestamp` is in seconds. */
export type Signed = { id: string; timestamp: number; body: string }

/** The headers of a delivery. While a secret rotates, there is one signature for each secret. */
export function signedHeaders(secrets: string[], { id, timestamp, body }: Signed): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}

/** What the secret of a webhook is encrypted for. */
export const secretBoundTo = (webhookId: string): string => JSON.stringify(['webhook', webhookId])
