/**
 * OpenAI's API in front of the same turns: Chat Completions, Responses and Models. Registers the routes with the checks of the public API, in
 * their order, and their own description at /openai/openapi.json (`openai.clients`).
 */
import type { FastifyInstance } from 'fastify'
import type { Access } from '../../access/outcome.ts'
import { admitCaller } from '../public/caller.ts'
import { limitUnread } from '../public/unread-responses.ts'
import { completionRoutes } from './completion-routes.ts'
import { modelRoutes } from './model-routes.ts'
import { describeOpenAi } from './openai-description.ts'
import { eventSchemas } from './openai-schemas.ts'
import { responseRoutes } from './response-routes.ts'
import type { ResponseOptions } from './response-routes.ts'

export type OpenAiRoutesOptions = ResponseOptions & { access: Access; publicUrl: string | undefined }

export async function openAiRoutes(app: FastifyInstance, { access, publicUrl, ...options }: OpenAiRoutesOptions): Promise<void> {
  describeOpenAi(app, publicUrl)
  await app.register(async (api) => {
    for (const schema of eventSchemas) api.addSchema(schema)
    api.addHook('onRequest', admitCaller(access))
    limitUnread(api, options.streams.unread)
    await api.register(modelRoutes)
    await api.register(completionRoutes, options)
    await api.register(responseRoutes, options)
  })
}
