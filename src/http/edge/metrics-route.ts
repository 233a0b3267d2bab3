/** GET /metrics for Prometheus. Requires the admin token if the public API uses the same port. */
import type { FastifyPluginAsync } from 'fastify'
import type { MetricsPage } from '../../observability/metrics.ts'
import type { TokenAuth } from '../admin/auth.ts'

/** `auth` is undefined on a separate admin port, which only the operator can reach. */
export type MetricsRouteOptions = { metrics: MetricsPage; auth: TokenAuth | undefined }

export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics, auth }) => {
  if (auth) app.addHook('onRequest', async (request) => auth(request.raw))
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
}
