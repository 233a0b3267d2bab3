/**
 * Authenticates API keys and spends their rate limit. Does not see a path, a body or the state of an agent, and gives all refused keys the
 * same response (docs/spec.md, "Keys" and "Rate limit"; `order.authentication`, `rate.fail-closed`).
 */
import { timingSafeEqual } from 'node:crypto'
import type { Logger } from 'pino'
import { createThrottle } from '../observability/throttle.ts'
import { noFailpoints } from '../failpoints.ts'
import type { Failpoints } from '../failpoints.ts'
import { maxSecretsPerKey } from '../store/queries/api-keys.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { digestSecret, parseApiKey } from './api-key.ts'
import { within } from '../deadline.ts'
import { createKeyCache } from './key-cache.ts'
import type { FoundKey } from './key-cache.ts'
import type { Access, Authenticated, RateOutcome } from './outcome.ts'
import type { RateSpend, RateWindow } from './rate-window.ts'

export type AccessOptions = {
  store: Store
  window: RateWindow
  /** A monotonic clock in milliseconds, such as performance.now(). */
  monotonicMs: () => number
  /** `rate.fail-closed`: the deadline of the store of rate windows. */
  windowDeadlineMs: number
  /** Called with every key that was authenticated. */
  onUse?: (apiKeyId: string) => void
  failpoints?: Failpoints
  log: Logger
}

// A key has 75 characters. Anything longer than this is refused without parsing.
const maxHeader = 256
// Compared in place of a missing secret, so that timing does not differ. It matches no known secret.
const noDigest = new Uint8Array(32)

export function createAccess({
  store,
  window,
  monotonicMs,
  windowDeadlineMs,
  onUse,
  failpoints = noFailpoints,
  log,
}: AccessOptions): Access {
  const keys = createKeyCache({ load: (keyIds) => store.read.findApiKeys(keyIds), monotonicMs })
  store.onChange(keys.clear)
  const mayLogRefusal = createThrottle(monotonicMs)
  const mayLogOutage = createThrottle(monotonicMs)
  let refused = 0

  function logLimiterFailure(error: unknown): void {
    refused += 1
    if (!mayLogRefusal()) return
    log.warn({ err: error, refused }, 'rate limiter unavailable: rejecting requests')
    refused = 0
  }

  function logKeyLookupFailure(error: StoreUnavailable): void {
    if (!mayLogOutage()) return
    log.warn({ cause: error.message }, 'could not look up API keys: rejecting requests')
  }

  /** `order.authentication`: an unknown ID and a wrong secret take the same path to the same response, with the same number of comparisons. */
  function checkSecret(digest: Uint8Array, { key, readAt }: FoundKey): Authenticated {
    const secrets = key?.secrets ?? []
    const age = monotonicMs() - readAt
    let matches = false
    for (let slot = 0; slot < Math.max(maxSecretsPerKey, secrets.length); slot++) {
      const secret = secrets[slot]
      const live = secret !== undefined && (secret.expiresInMs === null || age < secret.expiresInMs)
      if (timingSafeEqual(digest, live ? secret.digest : noDigest)) matches = true
    }
    if (!key || !matches) return { kind: 'invalid_api_key' }
    onUse?.(key.id)
    const { secrets: _, ...apiKey } = key
    return { kind: 'authenticated', apiKey }
  }

  async function checkSecretOnceFound(digest: Uint8Array, finding: Promise<FoundKey>): Promise<Authenticated> {
    const found = await finding.catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
      logKeyLookupFailure(error)
      return 'unavailable' as const
    })
    if (found === 'unavailable') return { kind: 'service_unavailable' }
    return checkSecret(digest, found)
  }

  async function ask(asked: RateSpend): Promise<RateOutcome> {
    await failpoints.reach('limiter.before-spend')
    const outcome = await window.spend(asked)
    await failpoints.reach('limiter.after-spend')
    return outcome
  }

  /** `rate.fail-closed`: an error or a late answer is `unavailable`, never a pass and never `exceeded`. */
  async function askInTime(asked: RateSpend): Promise<RateOutcome> {
    try {
      return await within(windowDeadlineMs, ask(asked))
    } catch (error) {
      logLimiterFailure(error)
      // mutant: rate.fail-closed
      return { kind: 'unavailable' }
    }
  }

  return {
    authenticate(authorization) {
      const presented = parseApiKey(bearerCredential(authorization))
      if (!presented) return { kind: 'invalid_api_key' }
      const digest = digestSecret(presented.secret)
      const found = keys.find(presented.keyId)
      return found instanceof Promise ? checkSecretOnceFound(digest, found) : checkSecret(digest, found)
    },

    spend({ id, rateLimit, rateWindowSeconds }) {
      const asked = { apiKeyId: id, limit: rateLimit, windowSeconds: rateWindowSeconds }
      // An answer that is known immediately needs no deadline. A failpoint before it may take time.
      return window.spendNow && failpoints === noFailpoints ? window.spendNow(asked) : askInTime(asked)
    },
  }
}

/**
 * Returns the credential of a bearer header, or an empty text. The case of the scheme and white space around the credential do not matter (RFC
 * 9110, 11.4).
 */
function bearerCredential(authorization: string | undefined): string {
  if (authorization === undefined || authorization.length > maxHeader) return ''
  return /^bearer[ \t]+(\S+)$/i.exec(authorization.trim())?.[1] ?? ''
}
