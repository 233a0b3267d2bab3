/** GET /healthz and GET /readyz for monitoring and load balancers, and GET /metrics for Prometheus. */
import type { IncomingMessage } from 'node:http'
import type { FastifyPluginAsync } from 'fastify'
import type { MetricsPage } from '../../observability/metrics.ts'

export type Readiness = { draining: boolean; store: 'ok' | 'unavailable'; limiter: 'ok' | 'unavailable' }

const refusesMessages = 'Messages are answered with 503 and Retry-After until the store and the limiter are available again.'

export const statusRoutes: FastifyPluginAsync<{ ready: () => Promise<Readiness> }> = async (app, { ready }) => {
  app.get('/healthz', async () => ({ status: 'alive' }))

  // The state of store and limiter is in the body only: with a failing status a load balancer would replace the service's own 503.
  app.get('/readyz', async (_request, reply) => {
    const { draining, store, limiter } = await ready()
    const refuses = !draining && [store, limiter].includes('unavailable')
    return reply
      .code(draining ? 503 : 200)
      .send({ status: draining ? 'draining' : 'ready', store, limiter, ...(refuses ? { note: refusesMessages } : {}) })
  })
}

/** `auth` is undefined on a separate admin port that only this machine can reach. */
export type MetricsRouteOptions = { metrics: MetricsPage; auth: ((request: IncomingMessage) => Promise<void>) | undefined }

/** Requires the admin token, or a token that may read the whole installation, unless `auth` is undefined. */
export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics, auth }) => {
  if (auth) app.addHook('onRequest', (request) => auth(request.raw))
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
}
