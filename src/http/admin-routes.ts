/** The admin API, `/admin/v1`: every route behind the one token, which is asked for before anything else is read. Surfaces: Admin API. */
import type { FastifyPluginAsync } from 'fastify'
import type { Admin } from '../admin/admin.ts'
import { agentRoutes } from './admin-agents.ts'
import type { AdminAuth } from './admin-auth.ts'
import { historyRoutes } from './admin-history.ts'
import { keyRoutes } from './admin-keys.ts'
import { ownerRoutes } from './admin-owners.ts'
import { providerRoutes } from './admin-providers.ts'

export type AdminRoutesOptions = { admin: Admin; auth: AdminAuth }

export const adminRoutes: FastifyPluginAsync<AdminRoutesOptions> = async (app, { admin, auth }) => {
  app.addHook('onRequest', async (request) => auth(request.headers.authorization))
  for (const routes of [ownerRoutes, providerRoutes, agentRoutes, keyRoutes, historyRoutes]) await app.register(routes, { admin })
}
