/**
 * Finds the methods of a path, so that a wrong method gets 405 with `Allow` and an unknown path gets 404 (`order.route`). A path has one
 * spelling (`order.spelling`): the router decodes `/%61dmin` before it compares, while a proxy in front may not.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, failures } from '../../errors.ts'
import { unsupportedEndpoint } from '../openai/openai-error.ts'

/** Records every route added after this call. Returns a function that maps a request URL to its methods: an empty list if the path is unknown or not supported. */
export function watchMethods(app: FastifyInstance): (url: string) => string[] {
  const routes = new Map<string, { path: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { path: pathPattern(url), methods: new Set() }
    for (const name of [method].flat()) route.methods.add(name)
    routes.set(url, route)
  })
  return (url) => {
    if (unsupportedEndpoint(url)) return []
    const path = pathOf(url)
    return [...routes]
      .filter(([pattern, route]) => route.path.test(path) && isSpelledLike(url, pattern))
      .flatMap(([, { methods }]) => [...methods])
  }
}

/** Whether the router has found the route of a request, and the path is spelled like it. */
export const isOfRoute = ({ is404, raw, routeOptions }: FastifyRequest): boolean =>
  !is404 && isSpelledLike(raw.url ?? '', routeOptions.url ?? '')

// Without any of these, what the router has found is spelled like the route. Most requests have none. The router ignores the first character
// of a URL, so it would treat `*` as `/`.
const unusual = /[%\\#]|\/\/|\/\.|^[^/]/

/**
 * `order.spelling`: whether the path names each fixed part of the route literally. The other parts may be percent-encoded, but must not contain a
 * slash, a backslash or a dot segment in any encoding, so that no other program that reads the path finds another route in it.
 */
function isSpelledLike(url: string, pattern: string): boolean {
  // mutant: order.spelling
  if (!unusual.test(url)) return true
  // A fragment belongs to no request (RFC 9112, 3.2). Programs differ in whether they ignore it.
  if (url.startsWith('*') || url.includes('#')) return false
  const wanted = pattern.split('/')
  return pathOf(url)
    .split('/')
    .every((part, at, parts) => {
      // Only before the first slash and after the last one, and the pattern was compared with both.
      if (part === '') return at === 0 || at === parts.length - 1
      const fixed = wanted[at]
      return fixed === undefined || fixed === '*' || fixed.startsWith(':') ? isOnePart(part) : part === fixed
    })
}

/** Decodes until nothing changes, because another program may decode a second time. */
function isOnePart(part: string): boolean {
  for (let text = part; ;) {
    if (/[/\\]|^\.\.?(?:;|$)/.test(text)) return false
    let decoded: string
    try {
      decoded = decodeURIComponent(text)
    } catch {
      return true
    }
    if (decoded === text) return true
    text = decoded
  }
}

// Created at the first use: the first Intl.ListFormat of a process loads locale data, which would take 3% of the startup time.
const anyOf = (names: string[]): string => new Intl.ListFormat('en', { type: 'disjunction' }).format(names)

/** Names the methods to use instead. `HEAD` appears only in the `Allow` header. */
export const wrongMethod = (methods: string[]): ApiError =>
  new ApiError('method_not_allowed', `${failures.method_not_allowed.message} Use ${anyOf(methods.filter((name) => name !== 'HEAD'))}.`)

/** Matches what the router matches for a pattern such as `/a/:b/*`. */
function pathPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]*' : part === '*' ? '.*' : RegExp.escape(part)))
  return new RegExp(`^${parts.join('/')}$`)
}

/** Removes the query, and the origin of an absolute-form request from a proxy. */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0]!
