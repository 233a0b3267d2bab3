/** The admin API, `/admin/v1`: every path behind the one token, which is asked for before anything else is looked at. Surfaces: Admin API. */
import type { FastifyPluginAsync } from 'fastify'
import type { Admin } from '../admin/admin.ts'
import { ApiError } from '../errors.ts'
import { agentRoutes } from './admin-agents.ts'
import type { AdminAuth } from './admin-auth.ts'
import { historyRoutes } from './admin-history.ts'
import { keyRoutes } from './admin-keys.ts'
import { ownerRoutes } from './admin-owners.ts'
import { providerRoutes } from './admin-providers.ts'
import { watchMethods } from './allowed-methods.ts'

export type AdminRoutesOptions = { admin: Admin; auth: AdminAuth }

export const adminRoutes: FastifyPluginAsync<AdminRoutesOptions> = async (app, { admin, auth }) => {
  app.addHook('onRequest', async (request) => auth(request.raw))
  let methodsOf: (url: string) => string[] = () => []
  await app.register(async (known) => {
    methodsOf = watchMethods(known)
    for (const routes of [ownerRoutes, providerRoutes, agentRoutes, keyRoutes, historyRoutes]) await known.register(routes, { admin })
  })
  // Every other path is a route too, so that a stranger is told 401 and never which paths and methods there are.
  await app.register(async (rest) => {
    rest.addHook('onRequest', async (request, reply) => {
      const methods = methodsOf(request.raw.url ?? '')
      if (methods.length === 0) throw new ApiError('not_found')
      reply.header('allow', methods.join(', '))
      throw new ApiError('method_not_allowed')
    })
    rest.all('/', () => undefined)
    rest.all('/*', () => undefined)
  })
}
