/** Finds the methods of a path, so that a wrong method gets 405 with `Allow` and an unknown path gets 404 (`order.route`). */
import type { FastifyInstance } from 'fastify'
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
    return [...routes.values()].filter((route) => route.path.test(path)).flatMap(({ methods }) => [...methods])
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
