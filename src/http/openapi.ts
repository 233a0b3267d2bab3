/** /openapi.json: the public API, written from the routes' own schemas. Specification section 9; surfaces, Addresses. */
import swagger from '@fastify/swagger'
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from './schema.ts'

// Checked by readIdempotencyKey, since a schema would count the header's bytes instead of its characters.
const ChatHeaders = Type.Object({
  'Idempotency-Key': Type.String({
    minLength: 1,
    maxLength: 255,
    description:
      'Unique per logical request; kept for 24 hours from the end of the turn. The same key with the same body gets the same reply.',
    examples: ['order-4711-question-1'],
  }),
})

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
      info: { title: 'Agent Chat API', version: '1.0.0', description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: publicUrl ?? '/' }],
      tags: [{ name: 'Chat' }, { name: 'Conversations' }],
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
