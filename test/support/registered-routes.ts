/** The routes that a service really has, also those that no description shows. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Json } from './test-app.ts'

export type RegisteredRoute = Pick<RouteOptions, 'url' | 'config' | 'bodyLimit'> & {
  method: string
  /** The schema of its body. */
  body: Json | undefined
  /** The schemas that it may refer to, by their `$id`. */
  named: Record<string, Json>
}

/** Starts something with one or more HTTP layers, and returns what was started and the routes of each layer. */
export async function withRoutes<Started>(start: () => Promise<Started>): Promise<{ started: Started; routes: RegisteredRoute[] }> {
  const routes: RegisteredRoute[] = []
  const onLayer = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', function (this: FastifyInstance, route) {
      const { url, config, bodyLimit, schema } = route
      for (const method of [route.method].flat())
        routes.push({
          method,
          url,
          config,
          bodyLimit,
          body: schema?.body as Json | undefined,
          named: this.getSchemas() as Record<string, Json>,
        })
    })
  }
  subscribe('fastify.initialization', onLayer)
  try {
    return { started: await start(), routes }
  } finally {
    unsubscribe('fastify.initialization', onLayer)
  }
}
