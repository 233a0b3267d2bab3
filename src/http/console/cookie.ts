/**
 * The cookie of a session of the console, on the wire. A browser sends it by itself, also for a page of somebody else, so it counts only in a
 * request that our own page alone can make: with a header of ours, which no form and no image can send, and from its own origin. Rule
 * `session.origin`.
 */
import type { IncomingMessage } from 'node:http'

const name = 'turnkeep_session'
// No page but the admin API is to see it.
const always = 'HttpOnly; SameSite=Strict; Path=/admin/v1'

/** For `Set-Cookie`. `isSecure`: the browser speaks TLS, and is to send it over nothing else. */
export const writeCookie = (secret: string, { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean }): string =>
  `${name}=${secret}; ${always}; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`

/** What the cookie holds; undefined where there is none, or more than one, or our own page did not make this request. */
export function readSessionSecret(request: IncomingMessage): string | undefined {
  const { cookie } = request.headers
  if (cookie === undefined || !isFromConsole(request)) return undefined
  const found = cookie.split(';').flatMap((pair) => (pair.trim().startsWith(`${name}=`) ? [pair.trim().slice(name.length + 1)] : []))
  return found.length === 1 ? found[0] : undefined
}

function isFromConsole({ headers }: IncomingMessage): boolean {
  if (headers['x-turnkeep-console'] !== '1') return false
  // What every browser of today says of a request, and no page can.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  return headers.origin === undefined || isAtHost(headers.origin, headers.host)
}

/** An origin that is none, such as `null`, is at no host. */
const isAtHost = (origin: string, host: string | undefined): boolean => host !== undefined && URL.parse(origin)?.host === host.toLowerCase()

/** As the proxy before us says; a caller who says so himself harms himself alone. */
export const cameByTls = ({ headers }: IncomingMessage): boolean =>
  String(headers['x-forwarded-proto'] ?? '')
    .split(',')[0]!
    .trim()
    .toLowerCase() === 'https'
