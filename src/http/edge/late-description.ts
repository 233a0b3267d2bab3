/**
 * Describes routes with @fastify/swagger, which is loaded at the first request of a description: with its YAML writer it would be a tenth of all
 * modules of a start. Until then, only the routes are remembered.
 */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { fastify } from 'fastify'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Returns the description of every route that is added to `app` after this call. The app must be ready. */
export function describeLate(app: FastifyInstance, options: FastifyDynamicSwaggerOptions): () => Promise<object> {
  const routes: RouteOptions[] = []
  const scopes: FastifyInstance[] = [app]
  app.addHook('onRoute', (route) => void (route.method !== 'HEAD' && routes.push(route)))
  app.addHook('onRegister', (scope) => void scopes.unshift(scope))
  let described: Promise<object> | undefined
  return () =>
    (described ??= describe(scopes, routes, options).catch((error: unknown) => {
      described = undefined
      throw error
    }))
}

/** An app that handles no request has the same routes and the plugin. */
async function describe(scopes: FastifyInstance[], routes: RouteOptions[], options: FastifyDynamicSwaggerOptions): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const shadow = fastify({ exposeHeadRoutes: false })
  shadow.setValidatorCompiler(() => () => true)
  shadow.setSerializerCompiler(() => JSON.stringify)
  const schemas: Record<string, unknown> = Object.assign({}, ...scopes.map((scope) => scope.getSchemas()))
  for (const schema of Object.values(schemas)) shadow.addSchema(schema)
  await shadow.register(swagger, options)
  for (const { method, url, schema, config } of routes)
    shadow.route({ method, url, schema: schema ?? {}, config: config ?? {}, handler: () => undefined })
  await shadow.ready()
  return shadow.swagger()
}
