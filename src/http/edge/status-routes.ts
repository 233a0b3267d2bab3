/** /healthz and /readyz, for whoever watches the process. Surfaces, Addresses. */
import type { FastifyPluginAsync } from 'fastify'

export type Readiness = { draining: boolean; store: 'ok' | 'unavailable'; limiter: 'ok' | 'unavailable' }

export const statusRoutes: FastifyPluginAsync<{ ready: () => Promise<Readiness> }> = async (app, { ready }) => {
  app.get('/healthz', async () => ({ status: 'alive' }))

  // Store and limiter stand in the body and never turn it red, or a load balancer would hide our own 503.
  app.get('/readyz', async (_request, reply) => {
    const { draining, store, limiter } = await ready()
    return reply.code(draining ? 503 : 200).send({ status: draining ? 'draining' : 'ready', store, limiter })
  })
}
