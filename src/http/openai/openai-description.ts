/** Serves /openai/openapi.json, the description of the routes in OpenAI's format. The public description does not contain them. */
import type { FastifyInstance } from 'fastify'
import type { Description } from '../edge/late-description.ts'
import { serveDescription } from '../public/openapi.ts'
import { requestParts } from './openai-schemas.ts'

const description = [
  "The agent of an API key for clients of OpenAI's API: one model, whose replies are stored and charged once. The server keeps the history of each",
  '`user`. Call it from your server: an API key must never reach a browser.',
].join(' ')

export const describeOpenAi = (app: FastifyInstance, publicUrl: string | undefined): (() => Promise<Description>) =>
  serveDescription(app, '/openai/openapi.json', publicUrl, {
    title: 'Agents for OpenAI clients',
    description,
    tags: [
      { name: 'Chat Completions', description: 'Send a message and get the reply, as one object or as chunks.' },
      { name: 'Responses', description: 'Send a message, follow, continue and cancel the response.' },
      { name: 'Models', description: 'The agent of the API key as a model.' },
    ],
    // The bodies and queries are checked by the routes, whose errors name a parameter.
    transform: ({ schema, url }) => ({ url, schema: { ...schema, ...requestParts[url] } }),
  })
