/**
 * Reads and writes the session cookie of the console. A browser also sends the cookie with requests that other sites trigger, so it is accepted
 * only in a request that only the console can make: with a custom header, which no form or image can send, and from the same origin
 * (`session.origin`).
 */
import type { IncomingMessage } from 'node:http'

const name = 'turnkeep_session'
// Only sent to the admin API.
const always = 'HttpOnly; SameSite=Strict; Path=/admin/v1'

/** Returns a `Set-Cookie` value. `isSecure`: the browser uses TLS and must send the cookie only over TLS. */
export const writeCookie = (secret: string, { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean }): string =>
  `${name}=${secret}; ${always}; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`

/** Returns the secret in the cookie. Undefined if there is no cookie, more than one, or the console did not make this request. */
export function readSessionSecret(request: IncomingMessage): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined || !isFromConsole(request)) return undefined
  const found = cookie.split(';').flatMap((pair) => (pair.trim().startsWith(`${name}=`) ? [pair.trim().slice(name.length + 1)] : []))
  return found.length === 1 ? found[0] : undefined
}

function isFromConsole({ headers }: IncomingMessage): boolean {
  if (headers['x-turnkeep-console'] !== '1') return false
  // Every current browser sets this header, and no page can change it.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  return headers.origin === undefined || isAtHost(headers.origin, headers.host)
}

/** An opaque origin (`null`) never matches. */
const isAtHost = (origin: string, host: string | undefined): boolean => host !== undefined && URL.parse(origin)?.host === host.toLowerCase()

/** Whether a proxy reports TLS. A caller that forges the header only affects its own cookie. */
export const cameByTls = ({ headers }: IncomingMessage): boolean =>
  String(headers['x-forwarded-proto'] ?? '')
    .split(',')[0]!
    .trim()
    .toLowerCase() === 'https'

/**
 * The origin that this request was sent to, for a link in its own response. No one else gets that response, so its Host header, which the
 * caller chooses, only affects the caller.
 */
export const originAskedFor = (request: IncomingMessage, byTls: boolean): string =>
  `${byTls || cameByTls(request) ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`
