/** Routes that the console uses while an agent is edited: trying a tool, asking MCP servers for their tools, and getting the price of a model. */
import { manyValues } from '../../edge/request-body.ts'
import { ToolDifferences } from './agent-answers.ts'
import { agentFields } from '../../../resources/agent.ts'
import { newProperties } from '../wire.ts'
import { Refresh } from './agent-bodies.ts'
import { HttpTool, readTool, writeDifference } from './tools.ts'
import { invalid } from '../../../errors.ts'
import { about, answers } from '../answers.ts'
import { ModelPrice, ToolTrial } from '../console-answers.ts'
import { AgentParams, wellFormed, writePrice, writePriceSource } from '../fields.ts'
import { Type } from '../../edge/schema.ts'
import type { TypedRoutes } from '../../edge/typed-routes.ts'

const closed = { additionalProperties: false } as const

const Trial = Type.Object(
  {
    // A tool of an MCP server is named <server>__<tool>.
    tool: Type.String({ ...wellFormed({ minLength: 1, maxLength: 300 }), description: 'Name of the tool as the model sees it.' }),
    arguments: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Arguments as the model would write them. If they do not match the schema of the tool, the result is the error that a model would get.',
      }),
    ),
    definition: Type.Optional(HttpTool),
  },
  { ...closed, examples: [{ tool: 'find_order', arguments: { number: '4711' } }] },
)

export const trialRoutes: TypedRoutes = async (app) => {
  app.post(
    '/agents/:id/tools/try',
    {
      config: { maxJsonValues: manyValues },
      schema: {
        ...about(
          'Agents',
          'tryTool',
          'Call a tool',
          'Calls a tool of the saved version for real, with all its side effects. With `definition`, an HTTP tool that is not saved yet is called in its place. The call has the `Idempotency-Key` `<X-Request-ID of the response>:1:1`. If the tool fails, the response is a 200 with `is_error`.',
        ),
        params: AgentParams,
        body: Trial,
        response: answers(ToolTrial, 'not_found'),
      },
    },
    async (request) => {
      const { tool, arguments: given = {}, definition } = request.body
      const { result, isError, ms } = await request.admin.tryTool(request.params.id, {
        tool,
        arguments: given,
        definition: definition && readTool(definition, 'definition'),
        requestId: request.id,
      })
      return { result, is_error: isError, ms }
    },
  )

  app.post(
    '/agents/:id/tools/refresh',
    {
      config: { maxJsonValues: manyValues },
      schema: {
        ...about(
          'Agents',
          'refreshTools',
          'Compare the tools of the MCP servers with the approved ones',
          'Returns the differences. With `approve`, the tools that the servers offer now are saved in a new version. With `definition`, only that server is called, which is not saved, and each tool that saving it would approve is `added`. Otherwise nothing changes.',
        ),
        params: AgentParams,
        body: Refresh,
        response: answers(ToolDifferences, 'not_found'),
      },
    },
    async (request) => {
      const { id } = request.params
      const { approve = false, definition } = request.body ?? {}
      if (approve && definition)
        throw invalid('definition', 'Send approve or definition, not both: a definition is only tested. To save it, update the agent.')
      const { differences, unusable, version } = definition
        ? await request.admin.tryServer(id, readTool(definition, 'definition'))
        : await request.admin.refreshTools(id, approve)
      return { data: differences.map(writeDifference), unusable, version }
    },
  )

  app.get(
    '/models/price',
    {
      schema: {
        ...about(
          'Agents',
          'priceModel',
          'Get the price of a model',
          'Returns the price from the built-in price list, which applies to an agent without its own price. `price` is null if the model is not in the list; an agent with this model then needs its own price.',
        ),
        querystring: Type.Object(
          {
            model: Type.String({
              ...newProperties(agentFields).model,
              description: '"<provider name>/<model id>".',
              examples: ['openai/gpt-5.4-mini'],
            }),
          },
          closed,
        ),
        response: answers(ModelPrice),
      },
    },
    async (request) => {
      const { model } = request.query
      const { price, priceSource, contextTokens } = await request.admin.priceModel(model)
      return { model, price: price && writePrice(price), price_source: writePriceSource(priceSource), context_tokens: contextTokens }
    },
  )
}
