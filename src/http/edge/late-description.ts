/**
 * Describes routes with @fastify/swagger, which is loaded at the first request of a description: with its YAML writer it would be a tenth of all
 * modules of a start. Until then, only the routes are remembered.
 */
import { setImmediate as othersRun } from 'node:timers/promises'
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { fastify } from 'fastify'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { shareComponents } from './shared-components.ts'

/** Of an API, in OpenAPI. The plugin can also write it as text. */
export type Description = Extract<ReturnType<FastifyInstance['swagger']>, object>

/**
 * Returns the description of every route that is added to `app` after this call. The app must be ready. `share`: for tests, which compare with
 * the description without shared components.
 */
export function describeLate(
  app: FastifyInstance,
  options: FastifyDynamicSwaggerOptions,
  share: (description: object) => void = shareComponents,
): () => Promise<Description> {
  const routes: RouteOptions[] = []
  const scopes: FastifyInstance[] = [app]
  app.addHook('onRoute', (route) => void (route.method !== 'HEAD' && routes.push(route)))
  app.addHook('onRegister', (scope) => void scopes.unshift(scope))
  let described: Promise<Description> | undefined
  return () =>
    (described ??= describe(scopes, routes, options, share).catch((error: unknown) => {
      described = undefined
      throw error
    }))
}

/** An app that handles no request has the same routes and the plugin. */
async function describe(
  scopes: FastifyInstance[],
  routes: RouteOptions[],
  options: FastifyDynamicSwaggerOptions,
  share: (description: object) => void,
): Promise<Description> {
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
  // The two steps before this and after it take up to 100 ms each.
  await othersRun()
  const description = shadow.swagger()
  share(description)
  return portable(description) as Description
}

// What `\s` matches in ECMAScript. Python's has other characters.
const blanks = '\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'

/**
 * A pattern that means the same to every reader of a description: with and without the `u` flag, and in Python. Without the flag, `\p{Cs}` forbids
 * the letters p, C and s, and a class of surrogates forbids every character beyond U+FFFF, so it is left out: JSON in UTF-8 has an unpaired
 * surrogate only as an escape, and the server refuses it (`text.well-formed`).
 */
const portablePattern = (pattern: string): string => pattern.replaceAll('\\p{Cs}', '').replaceAll('\\d', '[0-9]').replaceAll('\\s', blanks)

type Keywords = Record<string, unknown> & { patternProperties: Record<string, unknown> }

/** Names of properties are counted in code points by `maxLength`, and by a quantifier only with the `u` flag. */
function withAnyName({ patternProperties, ...schema }: Keywords): unknown {
  const [[pattern, value] = ['', {}], ...others] = Object.entries(patternProperties)
  const longest = /^\^(?:\.\*|\[\\s\\S\]\{0,(\d+)\})\$$/.exec(pattern)
  if (!longest || others.length > 0) throw new Error(`the description has a name pattern that is not portable: ${pattern}`)
  const names = longest[1] === undefined ? {} : { propertyNames: { maxLength: Number(longest[1]) } }
  return portable({ ...schema, additionalProperties: value, ...names })
}

function portable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(portable)
  if (typeof value !== 'object' || value === null) return value
  if ('patternProperties' in value) return withAnyName(value as Keywords)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === 'pattern' && typeof inner === 'string' ? portablePattern(inner) : portable(inner),
    ]),
  )
}
