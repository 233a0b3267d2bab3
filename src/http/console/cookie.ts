/**
 * Reads and writes the cookies of the console. A browser also sends the session's cookie with requests that other sites trigger, so it is
 * accepted only in a request that only the console can make: with a custom header, which no form or image can send, and from the same origin
 * (`session.origin`).
 */
import type { IncomingMessage } from 'node:http'

const sessionName = 'turnkeep_session'

/** `isSecure`: the browser uses TLS and must send the cookie only over TLS. `path`: the requests that it is sent with. */
export type CookieOptions = { maxAgeSeconds: number; isSecure: boolean; path: string; sameSite: 'Strict' | 'Lax' }

/** Returns a `Set-Cookie` value. `text` has no characters that a cookie would have to encode. */
export const writeCookie = (name: string, text: string, { maxAgeSeconds, isSecure, path, sameSite }: CookieOptions): string =>
  `${name}=${text}; HttpOnly; SameSite=${sameSite}; Path=${path}; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`

/** The `Set-Cookie` value of a session. Only sent to the admin API. */
export const sessionCookie = (secret: string, options: Pick<CookieOptions, 'maxAgeSeconds' | 'isSecure'>): string =>
  writeCookie(sessionName, secret, { ...options, path: '/admin/v1', sameSite: 'Strict' })

/** Returns the text of a cookie. Undefined unless there is exactly one of this name. */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const found = pairs.flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []))
  return found.length === 1 ? found[0] : undefined
}

/** Returns the secret in the session's cookie. Undefined without one, and if the console did not make this request. */
export const readSessionSecret = (request: IncomingMessage): string | undefined =>
  isFromConsole(request) ? readCookie(request, sessionName) : undefined

function isFromConsole(request: IncomingMessage): boolean {
  if (request.headers['x-turnkeep-console'] !== '1') return false
  return !isFromOtherSite(request)
}

/** Whether the browser says that a page of another origin made the request. Programs say nothing about it. */
export function isFromOtherSite({ headers }: IncomingMessage): boolean {
  // Every current browser sets this header, and no page can change it.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return true
  return headers.origin !== undefined && !isAtHost(headers.origin, headers.host)
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
