/** GET /v1/models: the agent of the key as a model, by its ID and by the slug of its name. */
import type { ApiKey } from '../../access/outcome.ts'
import type { TypedRoutes } from '../edge/typed-routes.ts'
import { rateHeaders } from '../public/caller.ts'
import type { Model } from './openai-schemas.ts'
import { modelSchema, modelsSchema } from './openai-schemas.ts'
import { agentSlug, isAgentOf } from '../../agent-slug.ts'
import { modelNotFound } from './openai-request.ts'

export const modelRoutes: TypedRoutes = async (app) => {
  app.get('/v1/models', { schema: modelsSchema }, async (request, reply) => {
    const { apiKey } = request.caller
    const ids = [apiKey.agentId, agentSlug(apiKey.agentName)].filter((id) => id !== '')
    return reply.headers(rateHeaders(request.caller.figures)).send({ object: 'list', data: ids.map((id) => modelObject(id, apiKey)) })
  })

  app.get('/v1/models/:model', { schema: modelSchema }, async (request, reply) => {
    const { apiKey } = request.caller
    const { model } = request.params as { model: string }
    if (!isAgentOf(apiKey, model)) throw modelNotFound('model')
    return reply.headers(rateHeaders(request.caller.figures)).send(modelObject(model, apiKey))
  })
}

const modelObject = (id: string, { agentCreatedAt }: ApiKey): Model => ({
  id,
  object: 'model',
  created: Math.floor(agentCreatedAt / 1000),
  owned_by: 'turnkeep',
})
