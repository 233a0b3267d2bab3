/**
 * What checks a request against its route's schema, compiled at the route's first request: the compiler and the schemas of all routes took a
 * sixth of a start and 25 MB, and most of them are not called for days. What a schema accepts is what it would have accepted at once. Never a
 * promise: a check is over when it returns.
 */
import { createRequire } from 'node:module'
import type { FastifySchemaValidationError, FastifyServerOptions } from 'fastify'

type Factory = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>['buildValidator']
type Check = { (value: unknown): unknown; errors?: FastifySchemaValidationError[] | null }
/** The named schemas, and Ajv's options → one part of a route → its check. */
type Build = (schemas: unknown, options: unknown) => (part: unknown) => Check

/** As Fastify's own, and later. `atOnce` finds a schema that cannot be compiled before the door is open: for the test of all of them. */
export function lateValidators(atOnce: boolean): NonNullable<Factory> {
  let build: Build | undefined
  const buildLate: Build = (schemas, options) => {
    let compiler: ReturnType<Build> | undefined
    return (part) => {
      const compile = (): Check => (compiler ??= (build ??= ajvOfFastify())(schemas, options))(part)
      let check = atOnce ? compile() : undefined
      const late: Check = (value) => {
        check ??= compile()
        const outcome = check(value)
        late.errors = check.errors ?? null
        return outcome
      }
      return late
    }
  }
  // Fastify's type names what Ajv has besides, and Fastify itself calls no more than this.
  return buildLate as unknown as NonNullable<Factory>
}

/** What Fastify would load if it were given nothing. */
function ajvOfFastify(): Build {
  const ofFastify = createRequire(createRequire(import.meta.url).resolve('fastify'))
  return (ofFastify('@fastify/ajv-compiler') as () => Build)()
}
