/** /admin/v1/openapi.json: the admin API, written from its routes' own schemas. Behind the admin token, since it is nobody else's business. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { adminSchemas } from './admin-answers.ts'
import { refNames } from './openapi.ts'

const description = [
  'Sets up and watches an installation. Amounts are decimal strings of USD with 8 places, times are UTC, lists are newest first.',
  'Unknown fields are refused. Every change stands in the audit.',
].join(' ')

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
      info: { title: 'Turnkeep Admin API', version: '1.0.0', description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: publicUrl ?? '/' }],
      tags: ['Owners', 'Providers', 'Agents', 'Knowledge', 'Keys', 'History', 'Erasure', 'Usage', 'Audit', 'Session', 'Service'].map(
        (name) => ({ name }),
      ),
      components: { securitySchemes: { adminToken: { type: 'http', scheme: 'bearer', description: 'The admin token.' }, session } },
      security: [{ adminToken: [] }, { session: [] }],
    },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: refNames,
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
