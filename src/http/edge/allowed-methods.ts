/** Which methods a path has, so that a wrong method is 405 with `Allow` and an unknown path 404. Ruling `order.route`. */
import type { FastifyInstance } from 'fastify'
import { ApiError, failures } from '../../errors.ts'

/** Watches the routes that are added from now on; answers a function from a request's URL to its methods, none where the path is unknown. */
export function watchMethods(app: FastifyInstance): (url: string) => string[] {
  const routes = new Map<string, { path: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { path: pathPattern(url), methods: new Set() }
    for (const name of [method].flat()) route.methods.add(name)
    routes.set(url, route)
  })
  return (url) => {
    const path = pathOf(url)
    return [...routes.values()].filter((route) => route.path.test(path)).flatMap(({ methods }) => [...methods])
  }
}

// Made where it is used: the first of its kind in a process reads its language's data, a thirtieth of a start.
const anyOf = (names: string[]): string => new Intl.ListFormat('en', { type: 'disjunction' }).format(names)

/** Names what would do; `HEAD` stands in `Allow` alone. */
export const wrongMethod = (methods: string[]): ApiError =>
  new ApiError('method_not_allowed', `${failures.method_not_allowed.message} Use ${anyOf(methods.filter((name) => name !== 'HEAD'))}.`)

/** `/a/:b/*` as the router reads it. */
function pathPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]*' : part === '*' ? '.*' : RegExp.escape(part)))
  return new RegExp(`^${parts.join('/')}$`)
}

/** Without query; a proxy's absolute form is a path too. */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0]!
