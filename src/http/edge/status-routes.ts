/** GET /healthz and GET /readyz for monitoring and load balancers, and GET /metrics for Prometheus. */
import type { FastifyPluginAsync } from 'fastify'
import type { MetricsPage } from '../../observability/metrics.ts'
import type { TokenAuth } from '../admin/auth.ts'

export type Readiness = { draining: boolean; store: 'ok' | 'unavailable'; limiter: 'ok' | 'unavailable' }

export const statusRoutes: FastifyPluginAsync<{ ready: () => Promise<Readiness> }> = async (app, { ready }) => {
  app.get('/healthz', async () => ({ status: 'alive' }))

  // The state of store and limiter is in the body only: with a failing status a load balancer would replace the service's own 503.
  app.get('/readyz', async (_request, reply) => {
    const { draining, store, limiter } = await ready()
    return reply.code(draining ? 503 : 200).send({ status: draining ? 'draining' : 'ready', store, limiter })
  })
}

/** `auth` is undefined on a separate admin port, which only the operator can reach. */
export type MetricsRouteOptions = { metrics: MetricsPage; auth: TokenAuth | undefined }

/** Requires the admin token if the public API uses the same port. */
export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics, auth }) => {
  if (auth) app.addHook('onRequest', async (request) => auth(request.raw))
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
}
