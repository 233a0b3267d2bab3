/** Serves /openapi.json, the description of the public API, generated from the schemas that validate its requests. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { describeLate } from '../edge/late-description.ts'
import type { Description } from '../edge/late-description.ts'
import { Type } from '../edge/schema.ts'
import { sendFile, servedText } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

/** Describes the header only. readIdempotencyKey validates it, because a schema would count bytes instead of characters. */
export const idempotencyKey = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 255, description, examples: [example] })

const ChatHeaders = Type.Object({
  'Idempotency-Key': idempotencyKey(
    'Unique per logical request. Kept for 24 hours after the turn ends. A retry with the same key and body returns the same reply.',
    'order-4711-question-1',
  ),
})
const AsyncHeaders = Type.Object({
  ...ChatHeaders.properties,
  Prefer: Type.Optional(
    Type.String({
      description: '`respond-async`: respond with 202 when the turn is admitted, instead of waiting for the reply.',
    }),
  ),
})
const FollowHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(Type.String({ description: 'The `id` of the last event that was received.' })),
})
const StreamHeaders = Type.Object({ ...ChatHeaders.properties, ...FollowHeaders.properties })
/** The headers of a route, which the schemas do not validate. */
const headersOf: Record<string, object> = {
  '/v1/agents/:agent_id/chat': AsyncHeaders,
  '/v1/agents/:agent_id/chat/stream': StreamHeaders,
  '/v1/agents/:agent_id/turns/:request_id/stream': FollowHeaders,
}

/** The server does not know who operates it. */
export const contact = { name: 'The operator of this installation' }

const summary = [
  'Chat with a configured agent. Every message is answered once, stored once and charged once.',
  'Call the API from your server: an API key must never reach a browser.',
].join(' ')

/** What differs between the two descriptions for callers with an API key. */
type Described = {
  title: string
  description: string
  tags: { name: string; description: string }[]
  transform: NonNullable<FastifyDynamicSwaggerOptions['transform']>
}

/** Describes every route added to `app` after this call, and serves the description at `path`. Returns a function that returns it. */
export function serveDescription(
  app: FastifyInstance,
  path: string,
  publicUrl: string | undefined,
  { title, description, tags, transform }: Described,
): () => Promise<Description> {
  const describe = describeLate(app, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version: '1.0.0', description, contact, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: publicUrl ?? '/' }],
      tags,
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `svc_live_<key_id>.<secret>`.' } },
      },
      security: [{ apiKey: [] }],
    },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: refNames,
    transform,
  })
  // Written once: anyone may ask for it, as often as they like, without reading the responses.
  let file: ServedFile | undefined
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    file ??= servedText('application/json; charset=utf-8', JSON.stringify(await describe()))
    return sendFile(request, reply, file, { 'cache-control': 'no-cache' })
  })
  return describe
}

/** Keeps the name of a named schema. */
export const refNames: NonNullable<FastifyDynamicSwaggerOptions['refResolver']> = {
  buildLocalReference: ({ $id }, _baseUri, _fragment, index) => (typeof $id === 'string' ? $id : `Schema${index}`),
}

/** Serves /openapi.json. Returns a function that returns it. */
export const describeApi = (app: FastifyInstance, publicUrl: string | undefined): (() => Promise<Description>) =>
  serveDescription(app, '/openapi.json', publicUrl, {
    title: 'Agent Chat API',
    description: summary,
    tags: [
      { name: 'Chat', description: 'Send a message and get the reply as JSON or as a stream of server-sent events.' },
      { name: 'Turns', description: 'Follow, continue and cancel a turn, and give feedback on it, by its `request_id`.' },
      { name: 'Conversations', description: 'The conversations and messages of this API key.' },
    ],
    transform: ({ schema, url }) => ({ url, schema: url in headersOf ? { ...schema, headers: headersOf[url] } : schema }),
  })
