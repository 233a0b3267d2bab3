/** /admin/v1/openapi.json: the admin API, written from its routes' own schemas. Behind the admin token, since it is nobody else's business. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { adminSchemas } from './answers.ts'
import { documentBodies } from './agents/documents.ts'
import { contact, idempotencyKey, refNames } from '../public/openapi.ts'
import { Type } from '../edge/schema.ts'

const description = [
  'Sets up and watches an installation. Amounts are decimal strings of USD with 8 places, times are UTC, lists are newest first.',
  'Unknown fields are refused. Every change stands in the audit.',
].join(' ')

// In the order in which an installation is set up, and then looked after.
const tags = {
  Owners: 'Who pays: a balance, and a ledger of all that has moved it.',
  Providers: 'Where the models are, with the keys to them.',
  Agents: 'What callers talk to: a prompt, a model, tools and knowledge, in versions.',
  Knowledge: 'The documents that an agent answers from.',
  Keys: 'API keys of an agent, each with its permission and rate limit.',
  History: 'Conversations and turns as they are stored.',
  Erasure: 'Text that is to be gone for good.',
  Usage: 'Figures by hour and day.',
  Audit: 'Who changed what.',
  Session: 'Signing in and out at the console.',
  Service: 'How the service is, and whether what it stores is sound.',
}

// Read where the calls are handled; what is described says more than a schema of all headers could check.
const headersOf: Record<string, object> = {
  addLedgerEntry: Type.Object({
    'Idempotency-Key': idempotencyKey('Unique per entry of this owner; never forgotten.', 'invoice-2026-0117'),
  }),
  playInPlayground: Type.Object({
    'Idempotency-Key': Type.Optional(idempotencyKey('As of the public API; absent: every call is a new message.', 'playground-1')),
  }),
}

const session = {
  type: 'apiKey',
  in: 'cookie',
  name: 'turnkeep_session',
  description: 'Of the console; beside the header `X-Turnkeep-Console: 1`, from its own origin alone, and only without `Authorization`.',
} as const

/** Describes the routes that are added to `app` from now on, and serves the description there. */
export async function describeAdminApi(app: FastifyInstance, publicUrl: string | undefined): Promise<void> {
  for (const schema of adminSchemas) app.addSchema(schema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Turnkeep Admin API',
        version: '1.0.0',
        description,
        contact,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl ?? '/' }],
      tags: Object.entries(tags).map(([name, said]) => ({ name, description: said })),
      components: { securitySchemes: { adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token.' }, session } },
      security: [{ adminToken: [] }, { session: [] }],
    },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: refNames,
    transform: ({ schema, url }) => {
      const headers = headersOf[schema.operationId ?? '']
      return { url, schema: { ...schema, ...(headers && { headers }), ...(schema.consumes && { body: documentBodies }) } }
    },
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
