/** What the console asks before an agent is saved, or changed: the price of a model, and what one of the agent's tools answers. Both change nothing here. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Model } from './agent-bodies.ts'
import { about, answers } from '../answers.ts'
import { ModelPrice, ToolTrial } from '../console-answers.ts'
import { AgentParams, wellFormed, writePrice } from '../fields.ts'
import { Type } from '../../edge/schema.ts'

const closed = { additionalProperties: false } as const

const Trial = Type.Object(
  {
    // An MCP server's name, two underscores and the name that it gives its tool.
    tool: Type.String({ ...wellFormed({ minLength: 1, maxLength: 300 }), description: 'By the name that the model sees.' }),
    arguments: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "As the model would write them; what does not fit the tool's schema is told as it is to a model.",
      }),
    ),
  },
  { ...closed, examples: [{ tool: 'find_order', arguments: { number: '4711' } }] },
)

export const trialRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/agents/:id/tools/try',
    {
      schema: {
        ...about(
          'Agents',
          'tryTool',
          'Call a tool of the saved version, for real',
          'What the tool changes is changed. The call carries an `Idempotency-Key`, `<X-Request-ID of the answer>:1:1`. A tool that fails is a 200 with `is_error`.',
        ),
        params: AgentParams,
        body: Trial,
        response: answers(ToolTrial, 'validation_error', 'payload_too_large', 'not_found'),
      },
    },
    async (request) => {
      const { tool, arguments: given = {} } = request.body
      const { result, isError, ms } = await request.admin.tryTool(request.params.id, { tool, arguments: given, requestId: request.id })
      return { result, is_error: isError, ms }
    },
  )

  app.get(
    '/models/price',
    {
      schema: {
        ...about(
          'Agents',
          'priceModel',
          'What an agent on this model is billed by where it is given no price',
          'By the built-in price list. Where the model is not in it `price` is null, and an agent on it has to be given one.',
        ),
        querystring: Type.Object(
          { model: Type.String({ ...Model, description: '"<provider name>/<model id>".', examples: ['openai/gpt-5.4-mini'] }) },
          closed,
        ),
        response: answers(ModelPrice, 'validation_error'),
      },
    },
    async (request) => {
      const { model } = request.query
      const { price, contextTokens } = await request.admin.priceModel(model)
      return { model, price: price && writePrice(price), context_tokens: contextTokens }
    },
  )
}
