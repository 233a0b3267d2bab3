/**
 * Sign-in with the company's identity provider: OpenID Connect, authorization code with PKCE (`operator.oidc`). The state is signed and bound
 * to a cookie of the browser; nonce and code verifier are computed from it and never leave the server except for the provider. The provider is
 * contacted by the first sign-in, so the server starts without it.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Logger } from 'pino'
import type { ClientAuth, Configuration } from 'openid-client'
import { needsUserInfo, readClaims, withUserInfo } from './company-claims.ts'
import type { ClaimRules, Claims, ClaimsRefused, Person } from './company-claims.ts'
import { createThrottle } from '../observability/throttle.ts'
import type { SignedToken, SignedTokens } from './signed-tokens.ts'

export type OidcSettings = ClaimRules & {
  /** For the button "Sign in with …". */
  name: string
  clientId: string
  /** Undefined for a public client. */
  clientSecret: string | undefined
  /** Where the provider sends the browser back. */
  redirectUri: () => string
}

/** `oidc_failed`: the provider's response is not valid. `oidc_cancelled`: the person refused. `oidc_expired`: the state is unknown or old. */
export type OidcRefused = ClaimsRefused | 'oidc_unavailable' | 'oidc_failed' | 'oidc_cancelled' | 'oidc_expired'
/** `replaces`: the session that the browser had at the start. */
export type CompanyAccount = Person & { issuer: string; replaces: string | null }
/** What the browser brought back. `browser` identifies one in which an operator has signed in before; null: any other one. */
export type OidcResponse = { query: URLSearchParams; stateText: string; state: SignedToken; browser: string | null }

export type Oidc = {
  name: string
  /** Returns the provider's address for the browser and the text of its cookie, or undefined if the provider cannot be reached. */
  begin(expiresAt: number, from: { replaces: string | null; browser: string | null }): Promise<{ url: string; cookie: string } | undefined>
  /**
   * `search`: the query of the request to the redirect URI. `cookie`: undefined without one. Returns undefined unless the state is one that this
   * browser was sent away with. Checks neither the time nor whether the state was used, and asks no one.
   */
  read(search: string, cookie: string | undefined): OidcResponse | undefined
  /** Asks the provider, with the secret of the client. Use the state before, so that a response is exchanged once (`operator.single-use`). */
  exchange(response: OidcResponse): Promise<CompanyAccount | OidcRefused>
}

/** How long a person may take at the provider, in milliseconds. */
export const stateMs = 10 * 60 * 1000

const timeoutSeconds = 10
// A provider announces new keys and addresses long before it uses them.
const discoveredMs = 60 * 60 * 1000
// While the provider cannot be reached, a request in this time is answered without asking it again.
const retryMs = 5000
// Of the codes of the package and of the provider that occur in one process.
const maxCauses = 100
const stateForm = /^[\w-]{1,1000}$/

type Options = { settings: OidcSettings; tokens: SignedTokens; log: Logger; monotonicMs: () => number }

export function createOidc({ settings, tokens, log, monotonicMs }: Options): Oidc {
  const provider = createProvider(settings, log, monotonicMs)
  const warn = createWarning(log, monotonicMs)
  const scopes = ({ scopes_supported = [] }: { scopes_supported?: string[] }): string => {
    const claim = settings.roles?.claim ?? ''
    // Zitadel lists none of its own scopes.
    const more = (claim === 'groups' && scopes_supported.includes(claim)) || claim === 'urn:zitadel:iam:org:project:roles' ? [claim] : []
    return ['openid', 'email', 'profile', ...more].join(' ')
  }

  return {
    name: settings.name,

    async begin(expiresAt, { replaces, browser }) {
      const config = await provider()
      if (!config) return undefined
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      const cookie = randomBytes(32).toString('base64url')
      const state = tokens.sign('oidc', expiresAt, { cookie: digest(cookie), replaces, browser })
      const secrets = tokens.read('oidc', state)!
      const url = buildAuthorizationUrl(config, {
        redirect_uri: settings.redirectUri(),
        scope: scopes(config.serverMetadata()),
        state,
        nonce: secrets.derive('nonce'),
        code_challenge: await calculatePKCECodeChallenge(secrets.derive('verifier')),
        code_challenge_method: 'S256',
      })
      return { url: url.href, cookie }
    },

    read(search, cookie) {
      const query = new URLSearchParams(search)
      const given = query.getAll('state')
      const state = given.length === 1 && stateForm.test(given[0]!) ? tokens.read('oidc', given[0]!) : undefined
      if (!state || cookie === undefined || !isSame(digest(cookie), state.content['cookie'] ?? '')) return undefined
      return { query, stateText: given[0]!, state, browser: state.content['browser'] ?? null }
    },

    async exchange({ query, stateText, state }) {
      const config = await provider()
      if (!config) return 'oidc_unavailable'
      const claims = await exchange(config, new URL(`?${query.toString()}`, settings.redirectUri()), stateText, state)
      if (typeof claims === 'string') return claims
      const person = readClaims(claims, settings)
      // The issuer of the verified ID token, which is the provider's.
      return typeof person === 'string' ? person : { ...person, issuer: String(claims['iss']), replaces: state.content['replaces'] ?? null }
    },
  }

  /** Gets and verifies the ID token. What it lacks comes from the provider's UserInfo, for the same subject. */
  async function exchange(config: Configuration, url: URL, expectedState: string, state: SignedToken): Promise<Claims | OidcRefused> {
    const { authorizationCodeGrant, AuthorizationResponseError, fetchUserInfo } = await import('openid-client')
    try {
      const checks = {
        expectedState,
        expectedNonce: state.derive('nonce'),
        pkceCodeVerifier: state.derive('verifier'),
        idTokenExpected: true,
      }
      const granted = await authorizationCodeGrant(config, url, checks)
      const claims: Claims = { ...granted.claims() }
      if (!needsUserInfo(claims, settings) || !config.serverMetadata().userinfo_endpoint) return claims
      const more = await fetchUserInfo(config, granted.access_token, String(claims['sub']))
      return withUserInfo(claims, { ...more })
    } catch (error) {
      if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return 'oidc_cancelled'
      warn(causeOf(error))
      return isUnreachable(error) ? 'oidc_unavailable' : 'oidc_failed'
    }
  }
}

/** Anyone can make a sign-in fail, so each cause is logged once immediately and then every ten seconds, with how often it occurred. */
function createWarning(log: Logger, monotonicMs: () => number): (cause: string) => void {
  const causes = new Map<string, { mayLog: () => boolean; times: number }>()
  return (cause) => {
    // A provider may name any cause.
    const kind = causes.has(cause) || causes.size < maxCauses ? cause : 'other'
    const counted = causes.get(kind) ?? { mayLog: createThrottle(monotonicMs), times: 0 }
    causes.set(kind, counted)
    counted.times++
    if (!counted.mayLog()) return
    log.warn({ cause: kind, times: counted.times }, 'sign-in with the company account failed')
    counted.times = 0
  }
}

/** Returns the provider's configuration, or undefined if it cannot be reached. One request at a time, and its result is kept. */
function createProvider(settings: OidcSettings, log: Logger, monotonicMs: () => number): () => Promise<Configuration | undefined> {
  let known: { config: Configuration; at: number } | undefined
  let failedAt = -Infinity
  let asking: Promise<Configuration | undefined> | undefined

  async function ask(): Promise<Configuration | undefined> {
    try {
      const config = await discover(settings)
      known = { config, at: monotonicMs() }
    } catch (error) {
      failedAt = monotonicMs()
      log.warn({ issuer: settings.issuer, cause: causeOf(error) }, 'the identity provider cannot be used')
    }
    return known?.config
  }

  return async () => {
    const now = monotonicMs()
    if ((known && now - known.at < discoveredMs) || now - failedAt < retryMs) return known?.config
    asking ??= ask().finally(() => (asking = undefined))
    return asking
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, discovery, enableNonRepudiationChecks, None } =
    await import('openid-client')
  const server = new URL(issuer)
  // Only for a provider on this machine (config/sign-in-settings.ts).
  const execute = server.protocol === 'http:' ? [allowInsecureRequests] : []
  const authenticate: ClientAuth = (provider, ...request) => {
    if (clientSecret === undefined) return None()(provider, ...request)
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = provider
    const method = methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost
    return method(clientSecret)(provider, ...request)
  }
  return discovery(server, clientId, undefined, authenticate, {
    execute: [...execute, enableNonRepudiationChecks],
    timeout: timeoutSeconds,
  })
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')
const isSame = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))

/** A code of the package or of the provider, never a text of it: such a text may contain a token. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const provider = 'error' in error && typeof error.error === 'string' && /^[a-z_]{1,60}$/.test(error.error) ? error.error : undefined
  return [code, provider, cause?.code].filter((one) => typeof one === 'string').join(' ') || error.name
}

/** `fetch` throws a TypeError if it gets no response, and the deadline is a TimeoutError. */
const isUnreachable = (error: unknown): boolean => {
  const names = [error, error instanceof Error ? error.cause : undefined].map((one) => (one instanceof Error ? one.name : ''))
  return names.includes('TimeoutError') || (error instanceof TypeError && error.message === 'fetch failed')
}
