/**
 * Tokens that the server signs and does not store: links for recovery, the challenges of passkeys and the state of a sign-in with the company
 * account. Whoever asks for one without signing in therefore writes nothing to the store. A token that is used is recorded by its digest until
 * it expires, so that it is used once (`operator.single-use`, queries/sign-in-secrets.ts). In bytes: HMAC-SHA-256 32 · JSON.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

export type TokenPurpose = 'recovery' | 'passkey' | 'new_passkey' | 'oidc' | 'browser'

export type SignedToken = {
  /**
   * What the store needs to use the token once: what identifies it, however its text was encoded, and its end in epoch milliseconds, of which
   * only the store decides whether it has passed.
   */
  use: { digest: Uint8Array; expiresAt: number }
  content: Record<string, string | null>
  /** A secret that only this server computes from the token, in 43 characters. */
  derive(label: string): string
}

export type SignedTokens = {
  /** Returns base64url, different each time. */
  sign(purpose: TokenPurpose, expiresAt: number, content?: SignedToken['content']): string
  /** Returns undefined for a text that was not signed for this purpose with one of the keys. Does not check the time. */
  read(purpose: TokenPurpose, text: string): SignedToken | undefined
}

const macBytes = 32
const nonceBytes = 16
// Longer than every token that is signed here.
const maxLength = 1000

/** The first key signs and every key verifies, as for secrets at rest (config/secrets.ts). A token of this module decrypts nothing. */
export function createSignedTokens(encryptionKeys: Uint8Array[]): SignedTokens {
  const keys = encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'turnkeep sign-in tokens', 32)))
  const first = keys[0]
  if (!first) throw new Error('at least one encryption key is required')
  return {
    sign(purpose, expiresAt, content = {}) {
      const json = Buffer.from(JSON.stringify({ nonce: randomBytes(nonceBytes).toString('base64url'), expiresAt, content }))
      return Buffer.concat([macOf(first, purpose, json), json]).toString('base64url')
    },
    read(purpose, text) {
      if (text.length > maxLength) return undefined
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length <= macBytes) return undefined
      const json = bytes.subarray(macBytes)
      const key = keys.find((one) => timingSafeEqual(macOf(one, purpose, json), bytes.subarray(0, macBytes)))
      if (!key) return undefined
      const { expiresAt, content } = JSON.parse(json.toString('utf8')) as { expiresAt: number } & Pick<SignedToken, 'content'>
      return {
        use: { digest: hash('sha256', bytes, 'buffer'), expiresAt },
        content,
        derive: (label) => createHmac('sha256', key).update(`derive ${label}\n`).update(bytes).digest('base64url'),
      }
    },
  }
}

const macOf = (key: Uint8Array, purpose: TokenPurpose, json: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`sign ${purpose}\n`).update(json).digest()
