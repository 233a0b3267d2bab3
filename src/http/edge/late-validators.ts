/**
 * Compiles the request schemas of a route at its first request. Compiling all schemas at startup took a sixth of the startup time and 25 MB,
 * and most routes are not used for days. The validation itself is unchanged and synchronous.
 */
import { createRequire } from 'node:module'
import type { FastifySchemaValidationError, FastifyServerOptions } from 'fastify'

type Factory = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>['buildValidator']
type Check = { (value: unknown): unknown; errors?: FastifySchemaValidationError[] | null }
/** Takes the named schemas and Ajv's options; returns a function that compiles the schema of one part of a route. */
export type Build = (schemas: unknown, options: unknown) => (part: unknown) => Check

/**
 * Like Fastify's validator compiler, but lazy. With `atOnce` it compiles at startup, so that a test finds every invalid schema. `build` is the
 * compiler of another server of the process, which has compiled the same schemas already.
 */
export function lateValidators(atOnce: boolean, build?: Build): NonNullable<Factory> {
  const buildLate: Build = (schemas, options) => {
    let compiler: ReturnType<Build> | undefined
    return (part) => {
      const compile = (): Check => (compiler ??= (build ??= fastifyCompiler())(schemas, options))(part)
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
  // Fastify's type includes more of Ajv, but Fastify calls nothing else.
  return buildLate as unknown as NonNullable<Factory>
}

/** Loads the compiler that Fastify uses by default. */
export function fastifyCompiler(): Build {
  const ofFastify = createRequire(createRequire(import.meta.url).resolve('fastify'))
  return (ofFastify('@fastify/ajv-compiler') as () => Build)()
}
