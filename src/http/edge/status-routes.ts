/** GET /healthz and GET /readyz, for monitoring and load balancers. */
import type { FastifyPluginAsync } from 'fastify'

export type Readiness = { draining: boolean; store: 'ok' | 'unavailable'; limiter: 'ok' | 'unavailable' }

export const statusRoutes: FastifyPluginAsync<{ ready: () => Promise<Readiness> }> = async (app, { ready }) => {
  app.get('/healthz', async () => ({ status: 'alive' }))

  // The state of store and limiter is in the body only: with a failing status a load balancer would replace the service's own 503.
  app.get('/readyz', async (_request, reply) => {
    const { draining, store, limiter } = await ready()
    return reply.code(draining ? 503 : 200).send({ status: draining ? 'draining' : 'ready', store, limiter })
  })
}
