/**
 * Who may come in: which API key a header presents, and whether its window has room. Never sees a path, a body or an agent's state, and
 * never tells one reason of a refused key from another. Specification section 5 and 8; rulings `order.authentication`, `rate.*`.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Logger } from 'pino'
import { noFailpoints } from '../failpoints.ts'
import type { Failpoints } from '../failpoints.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { digestSecret, parseApiKey } from './api-key.ts'
import { within } from './deadline.ts'
import { createKeyCache } from './key-cache.ts'
import type { Access, ApiKey, Authenticated } from './outcome.ts'
import type { RateWindow } from './rate-window.ts'

export type AccessOptions = {
  store: Store
  window: RateWindow
  /** Milliseconds that never go back, as performance.now(). */
  monotonicMs: () => number
  /** `rate.fail-closed`: how long the window's store may take. */
  windowDeadlineMs?: number
  /** Told of every key that authenticated. */
  onUse?: (apiKeyId: string) => void
  failpoints?: Failpoints
  log: Logger
}

// A key has 75 characters; what is longer than this is none, and is not looked at.
const longestHeader = 256
// An outage of the window's store is told at its first refusal and then this often, not once for each request.
const tellEveryMs = 10_000
// Compared where there is no secret; no text is known whose SHA-256 is all zeros.
const noDigest = new Uint8Array(32)
// A key has one secret, or two while it is rotated; as many comparisons are made for an unknown key.
const usualSecrets = 2

export function createAccess({
  store,
  window,
  monotonicMs,
  windowDeadlineMs = 250,
  onUse,
  failpoints = noFailpoints,
  log,
}: AccessOptions): Access {
  const keys = createKeyCache({ load: (keyId) => store.read('findApiKey', keyId), monotonicMs })
  store.onChange(keys.clear)
  let toldAt = -Infinity
  let blindToldAt = -Infinity
  let refused = 0

  function tellRefusal(error: unknown): void {
    refused += 1
    if (monotonicMs() - toldAt < tellEveryMs) return
    log.warn({ err: error, refused }, 'the rate window cannot be asked; requests are refused')
    toldAt = monotonicMs()
    refused = 0
  }

  function tellBlind(error: StoreUnavailable): void {
    if (monotonicMs() - blindToldAt < tellEveryMs) return
    log.warn({ cause: error.message }, 'API keys cannot be looked up; requests are refused')
    blindToldAt = monotonicMs()
  }

  return {
    async authenticate(authorization): Promise<Authenticated> {
      const presented = parseApiKey(bearerCredential(authorization))
      if (!presented) return { kind: 'invalid_api_key' }
      const digest = digestSecret(presented.secret)
      const found = await keys.find(presented.keyId).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error
        tellBlind(error)
        return 'unavailable' as const
      })
      if (found === 'unavailable') return { kind: 'service_unavailable' }
      // `order.authentication`: an unknown id and a wrong secret take the same path to the same answer.
      const secrets = found.key?.secrets ?? []
      const age = monotonicMs() - found.readAt
      let matches = false
      for (let slot = 0; slot < Math.max(usualSecrets, secrets.length); slot++) {
        const secret = secrets[slot]
        const live = secret !== undefined && (secret.expiresInMs === null || age < secret.expiresInMs)
        if (timingSafeEqual(digest, live ? secret.digest : noDigest)) matches = true
      }
      if (!found.key || !matches) return { kind: 'invalid_api_key' }
      onUse?.(found.key.id)
      const { id, agentId, permission, rateLimit, rateWindowSeconds } = found.key
      return { kind: 'authenticated', apiKey: { id, agentId, permission, rateLimit, rateWindowSeconds } }
    },

    /** `rate.fail-closed`: an error, or no answer in time, is `unavailable`; never a pass and never `exceeded`. */
    async spend({ id, rateLimit, rateWindowSeconds }: ApiKey) {
      const spent = Promise.try(async () => {
        await failpoints.reach('limiter.before-spend')
        const outcome = await window.spend({ apiKeyId: id, limit: rateLimit, windowSeconds: rateWindowSeconds })
        await failpoints.reach('limiter.after-spend')
        return outcome
      })
      try {
        return await within(windowDeadlineMs, spent)
      } catch (error) {
        tellRefusal(error)
        return { kind: 'unavailable' }
      }
    },
  }
}

/** The one credential of a bearer header, or nothing. The scheme's case and white space around the credential do not matter (RFC 9110, 11.4). */
function bearerCredential(authorization: string | undefined): string {
  if (authorization === undefined || authorization.length > longestHeader) return ''
  return /^bearer[ \t]+(\S+)$/i.exec(authorization.trim())?.[1] ?? ''
}
