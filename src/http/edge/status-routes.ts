/** GET /healthz and GET /readyz for monitoring and load balancers, and GET /metrics for Prometheus. */
import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { TokenAuth } from '../admin/auth.ts'
import { checkNeeds } from '../admin/permissions.ts'
import type { PrincipalLimit } from '../admin/principal-limits.ts'
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

/** `needsNoToken`: on a separate admin port that only this machine can reach. */
export type MetricsRouteOptions = { metrics: MetricsPage; auth: TokenAuth; limit: PrincipalLimit; needsNoToken: boolean }

/**
 * `metrics.access`: requires the admin token, or a token that may read the whole installation. With `needsNoToken`, a request without one is
 * served if it names this machine. A page in a browser can connect to this machine with a name of its own site, but cannot send another Host.
 */
export const metricsRoute: FastifyPluginAsync<MetricsRouteOptions> = async (app, { metrics, auth, limit, needsNoToken }) => {
  app.addHook('onRequest', async (request, reply) => {
    const { headers } = request.raw
    if (needsNoToken) {
      if (isLoopbackName(headers.host)) return
      if (headers.authorization === undefined) throw new ApiError('forbidden', foreignHost)
    }
    const principal = await auth(request.raw)
    limit(principal, false, request, reply)
    checkNeeds(principal, { needs: ['read'], installation: true })
  })
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()))
}

const foreignHost =
  'Without a token, the metrics are only served to requests whose Host is localhost, 127.0.0.1 or [::1]. ' +
  'Send the admin token, or a token for programs with the role viewer, as Authorization: Bearer.'

const isLoopbackName = (host = ''): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host)
