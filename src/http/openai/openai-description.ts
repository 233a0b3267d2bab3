/** Serves /openai/openapi.json, the description of the routes in OpenAI's format. The public description does not contain them. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { sendFile, servedText } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'
import { contact, refNames } from '../public/openapi.ts'
import { requestParts } from './openai-schemas.ts'

const description = [
  "The agent of an API key for clients of OpenAI's API: one model, whose replies are stored and charged once. The server keeps the history of each",
  '`user`. Call it from your server: an API key must never reach a browser.',
].join(' ')

/** Describes every route added to `app` after this call. */
export async function describeOpenAi(app: FastifyInstance, publicUrl: string | undefined): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Agents for OpenAI clients',
        version: '1.0.0',
        description,
        contact,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl ?? '/' }],
      tags: [
        { name: 'Chat Completions', description: 'Send a message and get the reply, as one object or as chunks.' },
        { name: 'Responses', description: 'Send a message, follow, continue and cancel the response.' },
        { name: 'Models', description: 'The agent of the API key as a model.' },
      ],
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `svc_live_<key_id>.<secret>`.' } },
      },
      security: [{ apiKey: [] }],
    },
    convertConstToEnum: false,
    stripBasePath: false,
    refResolver: refNames,
    // The bodies and queries are checked by the routes, whose errors name a parameter.
    transform: ({ schema, url }) => ({ url, schema: { ...schema, ...requestParts[url] } }),
  })
  let file: ServedFile | undefined
  app.get('/openai/openapi.json', { schema: { hide: true } }, (request, reply) => {
    file ??= servedText('application/json; charset=utf-8', JSON.stringify(app.swagger()))
    return sendFile(request, reply, file, { 'cache-control': 'no-cache' })
  })
}
