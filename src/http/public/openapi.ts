/** /openapi.json: the public API, written from the routes' own schemas. Specification section 9; surfaces, Addresses. */
import swagger from '@fastify/swagger'
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from '../edge/schema.ts'

/** The header for a description alone: readIdempotencyKey checks it, since a schema would count bytes instead of characters. */
export const idempotencyKey = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 255, description, examples: [example] })

const ChatHeaders = Type.Object({
  'Idempotency-Key': idempotencyKey(
    'Unique per logical request; kept for 24 hours from the end of the turn. The same key with the same body gets the same reply.',
    'order-4711-question-1',
  ),
})

/** Of whoever runs it: no more is known here. */
export const contact = { name: 'The operator of this installation' }

const description = [
  'Holds conversations with a configured agent. Every message is answered once, stored once and charged once.',
  'Send requests from a server: an API key must never reach a browser.',
].join(' ')

/** A named schema keeps its name. */
export const refNames: NonNullable<FastifyDynamicSwaggerOptions['refResolver']> = {
  buildLocalReference: ({ $id }, _baseUri, _fragment, index) => (typeof $id === 'string' ? $id : `Schema${index}`),
}

/** Describes the routes that are added to `app` from now on, and serves the description there. */
export async function describeApi(app: FastifyInstance, publicUrl: string | undefined): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Agent Chat API', version: '1.0.0', description, contact, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: publicUrl ?? '/' }],
      tags: [
        { name: 'Chat', description: 'One turn of a conversation: as JSON, or as a stream of events.' },
        { name: 'Conversations', description: 'What was said, as far as this API key has said it.' },
      ],
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `svc_live_<key_id>.<secret>`.' } },
      },
      security: [{ apiKey: [] }],
    },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: refNames,
    transform: ({ schema, url, route }) => ({ url, schema: route.method === 'POST' ? { ...schema, headers: ChatHeaders } : schema }),
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
