/** GET /metrics, for Prometheus: behind the admin token where the port is the public API's too. Surfaces, Addresses. */
import type { FastifyPluginAsync } from 'fastify'
import type { MetricsPage } from '../../observability/metrics.ts'
import type { TokenAuth } from '../admin/auth.ts'

/** `auth` is absent where nobody but the operator reaches the port. */
export type MetricsRouteOptions = { metrics: MetricsPage; auth: TokenAuth | undefined }

export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics, auth }) => {
  if (auth) app.addHook('onRequest', async (request) => auth(request.raw))
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
}
