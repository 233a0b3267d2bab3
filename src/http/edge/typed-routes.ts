/**
 * The type of a plugin with routes. Its handlers get requests with the types of their schemas, and return and send what the schema of the
 * response describes: a response that differs from its description is a compile error.
 */
import type { FastifyPluginAsync, FastifyPluginOptions, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { Static, TSchema } from 'typebox'

export type TypedRoutes<Options extends FastifyPluginOptions = Record<never, never>> = FastifyPluginAsync<
  Options,
  RawServerDefault,
  TypesOfSchemas
>

/** Fastify looks the types up by `schema`: the schema of a part of the request or of a media type, or the description of a response. */
interface TypesOfSchemas extends FastifyTypeProvider {
  readonly validator: TypeOf<this['schema']>
  readonly serializer: Sent<this['schema']>
}

type TypeOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown

/** No handler sends the response of a failure: it throws an ApiError. */
type Sent<Described> = Described extends { content: { 'application/json': { schema: infer Json } } }
  ? TypeOf<Json>
  : Described extends { content: object }
    ? never
    : TypeOf<Described>
